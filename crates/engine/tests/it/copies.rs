//! Copies that were asked for arrive, whatever becomes of other copies meanwhile.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::told::ExtraSignals;
use common::{grid, with_backend, workflow};
use slackline_engine::{Ending, Execution, Signal, SignalKind};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, TaskId};
use slackline_react::{StaticPlan, Transfers};
use slackline_schedule::registry::find;
use std::sync::Arc;

/// A host tells that it lacks a file while that is being brought there, as an attempt does that began
/// before: what is on its way arrives all the same.
#[test]
fn a_loss_that_is_told_late_does_not_touch_what_is_on_its_way() {
    let w = workflow(&[vec![1.0, 9.0], vec![9.0, 1.0]], &[(0, 1, 4.0)]);
    let p = grid(2, &[]);
    for at in [2.0, 3.0, 4.999] {
        let lost = SignalKind::CopyLost { file: FileId(0), host: HostId(1) };
        let mut policy = StaticPlan::new(find("heft").unwrap(), Transfers::Push);
        let outcome = with_backend(&w, &p, "fifo", |backend| {
            let mut told = ExtraSignals::new(backend, vec![Signal { at, what: lost }]);
            let execution = Execution::new(Arc::new(w.clone()), Arc::new(p.clone()));
            execution.run(&mut policy, &mut told).unwrap()
        });
        assert_eq!(outcome.ending, Ending::Finished);
        // v0 0-1 on the first, its result 1-5, v1 5-6 on the second.
        assert_eq!(outcome.schedule.placement(TaskId(1)).unwrap().start, 5.0);
        let sent = |r: &&slackline_model::trace::Record| {
            matches!(r.what, Happening::TransferStarted { .. })
        };
        assert_eq!(outcome.trace.records().iter().filter(sent).count(), 1);
    }
}
