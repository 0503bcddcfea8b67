//! Hosts, peers and what they store.

use super::super::attributes::Attributes;
use super::super::values::{contents, initial_state, own_disk, shared, speed, take_own};
use super::{Elements, Frame, Mount, OpenHost, Storage};
use crate::error::{FormatError, Result};
use slackline_model::platform::{Disk, HostSpec, LinkSpec, Member, Profile, StarLeaf};
use slackline_model::units::Quantity;
use std::sync::Arc;

impl Elements<'_> {
    pub(super) fn open_host(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let name = a.required(&["id"])?;
        let mut spec = HostSpec::new(name, speed(a)?);
        spec.cores = a.count("core", 1)?;
        if let Some(scale) = a.number("availability")?
            && scale != 1.0
        {
            let profile = Profile::constant(scale).map_err(|e| a.error(e))?;
            spec.availability = Some(Arc::new(profile));
        }
        spec.state = initial_state(a)?;
        if let Some(profile) = self.trace_file(a, &["speed_file", "availability_file"])? {
            spec.availability = Some(profile);
        }
        if let Some(profile) = self.trace_file(a, &["state_file"])? {
            spec.state = Some(profile);
        }
        Ok(Frame::Host(Box::new(OpenHost {
            spec,
            properties: Vec::new(),
            coordinates: a.coordinates()?,
            disks: Vec::new(),
            mounts: Vec::new(),
        })))
    }

    pub(super) fn close_host(&mut self, open: OpenHost) -> Result<()> {
        let OpenHost { mut spec, properties, coordinates, disks, mounts } = open;
        let properties = take_own(&mut spec, properties)?;
        spec.properties = shared(properties);
        let zone = self.zone_or_root()?;
        let host = self.builder.add_host(zone, spec).map_err(FormatError::new)?;
        if let Some(coordinates) = coordinates {
            let member = Member::Host(host);
            self.builder.set_coordinates(member, coordinates).map_err(FormatError::new)?;
        }
        for disk in disks {
            let find = |key: &str| disk.properties.iter().find(|(name, _)| name == key);
            let capacity = find("size")
                .map(|(_, size)| Quantity::Size.parse_or_bare(size))
                .transpose()
                .map_err(|e| FormatError::new(format!("disk \"{}\": size: {e}", disk.name)))?;
            let connection = find("connection_bw")
                .map(|(_, bandwidth)| Quantity::Bandwidth.parse_or_bare(bandwidth))
                .transpose()
                .map_err(|e| FormatError::new(format!("disk \"{}\": {e}", disk.name)))?;
            let mounts = find("mount").map(|(_, path)| (host, path.clone())).into_iter().collect();
            let mut properties = disk.properties.clone();
            // The disk states them itself, and its writer writes them.
            properties
                .retain(|(key, _)| !["size", "connection_bw", "mount"].contains(&key.as_str()));
            let (model, contents) = own_disk(&mut properties, self.siblings)?;
            let disk = Disk {
                name: disk.name.into(),
                host,
                read_bandwidth: disk.read,
                write_bandwidth: disk.write,
                // As in SimGrid, if no bandwidth of reads and writes together is given.
                connection_bandwidth: connection.or(Some(disk.read.max(disk.write))),
                capacity,
                model,
                contents,
                mounts,
                properties: shared(properties),
            };
            self.builder.add_disk(disk).map_err(FormatError::new)?;
        }
        for (disk, path, offset) in mounts {
            let (disk, attached_to) = match disk.split_once(':') {
                Some((disk, server)) => (disk.to_string(), Some(server.to_string())),
                None => (disk, None),
            };
            self.mounts.push(Mount { host, disk, attached_to, path, offset });
        }
        Ok(())
    }

    pub(super) fn add_peer(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let name = a.required(&["id"])?;
        let mut spec = HostSpec::new(name, speed(a)?);
        spec.availability = self.trace_file(a, &["speed_file", "availability_file"])?;
        spec.state = self.trace_file(a, &["state_file"])?;
        let latency = a.quantity(&["lat"], Quantity::Duration)?.unwrap_or(0.0);
        let bandwidth_in = a.required_quantity(&["bw_in"], Quantity::Bandwidth)?;
        let bandwidth_out = a.required_quantity(&["bw_out"], Quantity::Bandwidth)?;
        let fail = self.at(a.offset());
        let zone = self.zone_or_root()?;
        let b = &mut self.builder;
        let host = b.add_host(zone, spec).map_err(&fail)?;
        let up = LinkSpec::new(format!("link_{name}_UP"), bandwidth_out, latency);
        let up = Some(b.add_link(up).map_err(&fail)?);
        let down = LinkSpec::new(format!("link_{name}_DOWN"), bandwidth_in, latency);
        let down = Some(b.add_link(down).map_err(&fail)?);
        b.set_leaf(host, StarLeaf { up, down, ..StarLeaf::default() }).map_err(&fail)?;
        if let Some(coordinates) = a.coordinates()? {
            b.set_coordinates(Member::Host(host), coordinates).map_err(&fail)?;
        }
        Ok(Frame::Leaf)
    }

    pub(super) fn mount(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let disk = a.required(&["storageId", "id"])?.to_string();
        let path = a.required(&["name"])?.to_string();
        match self.stack.last_mut().map(|(frame, _)| frame) {
            Some(Frame::Host(host)) => host.mounts.push((disk, path, a.offset())),
            _ => return Err(a.error("it must stand in a <host>")),
        }
        Ok(Frame::Leaf)
    }
}

pub(super) fn open_storage_type(a: &Attributes<'_>) -> Result<Frame> {
    let capacity = a.quantity(&["size"], Quantity::Size)?;
    let storage = Storage { capacity, properties: contents(a), ..Storage::default() };
    Ok(Frame::StorageType(a.required(&["id"])?.to_string(), storage))
}
