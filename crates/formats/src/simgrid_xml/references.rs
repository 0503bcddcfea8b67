//! References to other elements, which are resolved when the whole document has been read.

use super::elements::{Connection, ConnectionKind, Elements, OpenStorage};
use super::own;
use super::values::{half, own_disk, shared};
use crate::error::{FormatError, Result};
use slackline_model::LinkId;
use slackline_model::platform::{DeclaredRoute, Disk, LinkProfiles, PlatformError, StarLeaf};

impl Elements<'_> {
    pub(super) fn resolve_host_links(&mut self) -> Result<()> {
        for (host, up, down, offset) in std::mem::take(&mut self.host_links) {
            let fail = self.at(offset);
            let b = &mut self.builder;
            let host = b.host(&host).map_err(&fail)?;
            let up = Some(b.link(&up).map_err(&fail)?);
            let down = Some(b.link(&down).map_err(&fail)?);
            b.set_leaf(host, StarLeaf { up, down, ..StarLeaf::default() }).map_err(&fail)?;
        }
        Ok(())
    }

    pub(super) fn resolve_routes(&mut self) -> Result<()> {
        for route in std::mem::take(&mut self.routes) {
            let fail = self.at(route.offset);
            let b = &mut self.builder;
            let end = |name: &str| b.member(name.strip_prefix(own::WRAP).unwrap_or(name));
            let (src, dst) = (end(&route.src), end(&route.dst));
            let gateway = |name: &Option<String>| name.as_deref().map(|n| b.member(n)).transpose();
            let (gw_src, gw_dst) = (gateway(&route.gateways.0), gateway(&route.gateways.1));
            let links: std::result::Result<Box<[LinkId]>, PlatformError> =
                route.links.iter().map(|(name, direction)| half(b, name, *direction)).collect();
            let declared = DeclaredRoute {
                src: src.map_err(&fail)?,
                dst: dst.map_err(&fail)?,
                gw_src: gw_src.map_err(&fail)?,
                gw_dst: gw_dst.map_err(&fail)?,
                links: links.map_err(&fail)?,
                symmetrical: route.symmetrical,
            };
            let Some(zone) = route.zone else { continue };
            if route.bypass {
                b.add_bypass(zone, declared).map_err(&fail)?;
            } else {
                b.add_route(zone, declared).map_err(&fail)?;
            }
        }
        Ok(())
    }

    /// Turns storages into disks of the host they are attached to, or that mounts them first.
    pub(super) fn resolve_storages(&mut self) -> Result<()> {
        for open in std::mem::take(&mut self.storages) {
            let OpenStorage { name, type_id, attach, properties, offset } = open;
            let fail = |message: String| FormatError::at_offset(self.text, offset, message);
            let Some(kind) = self.storage_types.get(&type_id) else {
                return Err(fail(format!("there is no storage_type \"{type_id}\"")));
            };
            let host = match attach {
                Some(host) => self.builder.host(&host).map_err(self.at(offset))?,
                None => {
                    let first = self.mounts.iter().find(|mount| mount.disk == name);
                    first.map(|mount| mount.host).ok_or_else(|| {
                        fail(format!("nothing mounts the storage \"{name}\" and it has no host"))
                    })?
                }
            };
            let need = |value: Option<f64>, what: &str| {
                value.ok_or_else(|| fail(format!("the storage_type \"{type_id}\" has no {what}")))
            };
            let mut all = kind.properties.clone();
            all.retain(|(key, _)| !properties.iter().any(|(own, _)| own == key));
            all.extend(properties);
            let (model, contents) =
                own_disk(&mut all, self.siblings).map_err(|e| match e.file {
                    Some(_) => e,
                    None => fail(e.to_string()),
                })?;
            let disk = Disk {
                name: name.into(),
                host,
                read_bandwidth: need(kind.read, "Bread")?,
                write_bandwidth: need(kind.write, "Bwrite")?,
                connection_bandwidth: kind.connection,
                capacity: kind.capacity,
                model,
                contents,
                mounts: Vec::new(),
                properties: shared(all),
            };
            self.builder.add_disk(disk).map_err(self.at(offset))?;
        }
        Ok(())
    }

    pub(super) fn resolve_mounts(&mut self) -> Result<()> {
        for mount in std::mem::take(&mut self.mounts) {
            let server = match &mount.attached_to {
                Some(name) => Some(self.builder.host(name).map_err(self.at(mount.offset))?),
                None => None,
            };
            let Some(disk) = self.builder.disk_named(&mount.disk, server) else {
                let message = format!("there is no disk or storage \"{}\"", mount.disk);
                return Err(FormatError::at_offset(self.text, mount.offset, message));
            };
            self.builder.add_mount(disk, mount.host, mount.path);
        }
        Ok(())
    }

    pub(super) fn resolve_connections(&mut self) -> Result<()> {
        for Connection { kind, trace, element, offset } in std::mem::take(&mut self.connections) {
            let fail = self.at(offset);
            let Some(profile) = self.traces.get(&trace) else {
                let message = format!("there is no trace \"{trace}\"");
                return Err(FormatError::at_offset(self.text, offset, message));
            };
            let Some(profile) = profile.clone() else { continue };
            let b = &mut self.builder;
            match kind {
                ConnectionKind::Speed => {
                    let host = b.host(&element).map_err(&fail)?;
                    b.set_availability(host, profile);
                }
                ConnectionKind::HostState => {
                    let host = b.host(&element).map_err(&fail)?;
                    b.set_host_state(host, profile);
                }
                _ => {
                    let link = half(b, &element, None).map_err(&fail)?;
                    let mut profiles = LinkProfiles::default();
                    *match kind {
                        ConnectionKind::Bandwidth => &mut profiles.bandwidth,
                        ConnectionKind::Latency => &mut profiles.latency,
                        _ => &mut profiles.state,
                    } = Some(profile);
                    b.set_link_profiles(link, profiles).map_err(&fail)?;
                }
            }
        }
        Ok(())
    }
}
