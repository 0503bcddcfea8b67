//! Walks the events of the document; elements that others refer to are added at once, those
//! that refer (routes, mounts, trace connections) at the end, so that order does not matter.

use super::attributes::Attributes;
use super::elements::Elements;
use crate::error::{FormatError, Result};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use slackline_io::{FileAccess, Siblings};
use slackline_model::platform::Platform;
use std::path::Path;

/// Elements nested deeper than this are refused.
const DEPTH_LIMIT: usize = 128;

/// Reads a platform file; trace files are looked for beside it.
pub fn read(files: &FileAccess, path: &Path) -> Result<Platform> {
    let text = files.read_text(path)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    parse_in(&text, name.as_deref(), Some(files.siblings(path))).map_err(|e| match e.file {
        // A list of contents beside it.
        Some(_) => e,
        None => e.in_file(path),
    })
}

/// Reads a platform from text; it cannot name trace files, and gets the name of its root zone.
pub fn parse(text: &str) -> Result<Platform> {
    parse_in(text, None, None)
}

fn parse_in(text: &str, name: Option<&str>, siblings: Option<Siblings<'_>>) -> Result<Platform> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut elements = Elements::new(text, name, siblings);
    let mut depth = 0usize;
    // Depth of an element whose content means nothing to us.
    let mut skipped_from = None;
    loop {
        let offset = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| {
            let at = (reader.error_position() as usize).min(text.len());
            FormatError::at_offset(text, at, error)
        })?;
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEPTH_LIMIT {
                    let message = format!("elements are nested deeper than {DEPTH_LIMIT}");
                    return Err(FormatError::at_offset(text, offset, message));
                }
                if skipped_from.is_none() && !open(&mut elements, &tag, text, offset)? {
                    skipped_from = Some(depth);
                }
            }
            Event::Empty(tag)
                if skipped_from.is_none() && open(&mut elements, &tag, text, offset)? =>
            {
                elements.close()?;
            }
            Event::End(_) => {
                if skipped_from == Some(depth) {
                    skipped_from = None;
                } else if skipped_from.is_none() {
                    elements.close()?;
                }
                depth = depth.saturating_sub(1);
            }
            Event::Text(content) if skipped_from.is_none() => {
                elements.content(content.xml10_content().as_ref(), offset)?;
            }
            Event::CData(content) if skipped_from.is_none() => {
                elements.content(content.xml10_content().as_ref(), offset)?;
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if depth > 0 {
        let message = "the document ends inside an element: is it cut off?";
        return Err(FormatError::at_offset(text, text.len(), message));
    }
    elements.finish()
}

/// Opens an element; `false` if it and its content are to be skipped.
fn open(
    elements: &mut Elements<'_>,
    tag: &BytesStart<'_>,
    text: &str,
    offset: usize,
) -> Result<bool> {
    let name = tag.name();
    let Some(known) = known_attributes(name.0) else {
        let message = format!("unknown element <{}>", name.0.chars().take(40).collect::<String>());
        return Err(FormatError::at_offset(text, offset, message));
    };
    if known.is_empty() {
        return Ok(false);
    }
    let attributes = Attributes::read(tag, elements.text(), offset, known)?;
    elements.open(name.0, attributes)?;
    Ok(true)
}

/// The attributes of each element, version 3 and 4 together; none for elements that describe
/// applications, not platforms.
fn known_attributes(element: &str) -> Option<&'static [&'static str]> {
    Some(match element {
        "platform" => &["version"],
        "zone" | "AS" => &["id", "routing"],
        "prop" | "model_prop" => &["id", "value"],
        "host" => &[
            "id",
            "speed",
            "power",
            "core",
            "availability",
            "speed_file",
            "availability_file",
            "state",
            "state_file",
            "pstate",
            "coordinates",
        ],
        "disk" => &["id", "read_bw", "write_bw"],
        "mount" => &["id", "storageId", "name"],
        "storage_type" => &["id", "model", "size", "content", "content_type"],
        "storage" => &["id", "typeId", "attach", "content", "content_type"],
        "router" => &["id", "coordinates"],
        "link" => &[
            "id",
            "bandwidth",
            "latency",
            "sharing_policy",
            "bandwidth_file",
            "latency_file",
            "state",
            "state_file",
        ],
        "backbone" => &["id", "bandwidth", "latency", "sharing_policy"],
        "host_link" => &["id", "up", "down"],
        "cluster" => &[
            "id",
            "prefix",
            "suffix",
            "radical",
            "speed",
            "power",
            "core",
            "bw",
            "lat",
            "sharing_policy",
            "topology",
            "topo_parameters",
            "bb_bw",
            "bb_lat",
            "bb_sharing_policy",
            "availability_file",
            "speed_file",
            "state_file",
            "router_id",
            "limiter_link",
            "loopback_bw",
            "loopback_lat",
        ],
        "cabinet" => &["id", "prefix", "suffix", "radical", "speed", "power", "bw", "lat"],
        "peer" => &[
            "id",
            "speed",
            "power",
            "lat",
            "bw_in",
            "bw_out",
            "coordinates",
            "speed_file",
            "availability_file",
            "state_file",
        ],
        "route" | "bypassRoute" => &["src", "dst", "symmetrical"],
        "zoneRoute" | "ASroute" | "bypassZoneRoute" | "bypassASroute" => {
            &["src", "dst", "gw_src", "gw_dst", "symmetrical"]
        }
        "link_ctn" | "link:ctn" => &["id", "direction"],
        "trace" => &["id", "file", "periodicity"],
        "trace_connect" => &["kind", "trace", "element"],
        "config" | "random" | "process" | "actor" | "argument" | "gpu" => &[],
        _ => return None,
    })
}
