//! Properties of every run: each task is done exactly once in effect, nothing computes
//! without its data, processors run one task at a time, runs repeat to the byte; and where the
//! plainest policy finishes, every policy that claims to survive does.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::cases;
use common::world::{OneByOne, harsh, plain};
use proptest::prelude::*;
use slackline_engine::{
    Backend, DecisionLog, Ending, Journal, Journaled, Logged, Record, Repeat, Resumed,
};
use slackline_model::platform::Charges;
use slackline_react::Policy;

proptest! {
    #![proptest_config(cases(150))]
    #[test]
    fn every_run_is_whole(world in plain()) {
        for (name, mut policy) in world.policies() {
            let (outcome, seen) = world.watched(name, policy.as_mut(), None);
            prop_assert_eq!(&outcome.ending, &Ending::Finished, "{}", name);
            let verdict = world.replay(&outcome, &seen, false);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            let verdict = world.work_is_conserved(&outcome);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            prop_assert_eq!(outcome.counters.rejected, 0, "{}", name);
            // Again, watched: the same to the byte.
            let fresh = || world.policies().find(|p| p.0 == name).unwrap().1;
            let again = |policy: &mut dyn Policy, backend: &mut dyn Backend| {
                world.execution().run(policy, backend).unwrap()
            };
            let mut policy = fresh();
            let mut logged = Logged::new(policy.as_mut());
            let (mut journal, mut charges) = (Journal::default(), Charges::default());
            let repeated = world.with_backend(|backend| {
                let keep = Box::new(|record: &Record| {
                    journal.records.push(record.clone());
                    Ok(())
                });
                charges = backend.charges();
                again(&mut logged, &mut Journaled::new(backend, keep))
            });
            let expected = format!("{outcome:?}");
            prop_assert_eq!(&expected, &format!("{repeated:?}"), "{}", name);
            // Without a world, from what its backend answered: the same decisions.
            let log = logged.log;
            let mut policy = fresh();
            let mut logged = Logged::new(policy.as_mut());
            let played = again(&mut logged, &mut Resumed::repeat(journal, charges));
            prop_assert_eq!(&expected, &format!("{played:?}"), "{}", name);
            prop_assert_eq!(log.first_difference(&logged.log), None, "{}", name);
            // Without a policy, from what it decided, through a file: the same run.
            let mut file = Vec::new();
            log.write(&mut file).unwrap();
            let read = DecisionLog::read(&mut &file[..]).unwrap();
            prop_assert_eq!(&log, &read, "{}", name);
            let mut repeat = Repeat::new(read);
            let outcome = world.with_backend(|backend| again(&mut repeat, backend));
            prop_assert_eq!(&expected, &format!("{outcome:?}"), "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn who_waits_finishes(world in harsh()) {
        let (plainest, seen) = world.watched("one by one", &mut OneByOne, None);
        let verdict = world.replay(&plainest, &seen, false);
        prop_assert!(verdict.is_ok(), "one by one: {}", verdict.unwrap_err());
        if world.lets_all_finish() {
            prop_assert_eq!(&plainest.ending, &Ending::Finished, "one by one");
        }
        for (name, mut policy) in world.policies() {
            let (outcome, seen) = world.watched(name, policy.as_mut(), None);
            let verdict = world.replay(&outcome, &seen, false);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            let verdict = world.work_is_conserved(&outcome);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            // Where nobody can finish a run ends all the same.
            if world.lets_all_finish() {
                prop_assert_eq!(&outcome.ending, &Ending::Finished, "{}", name);
            }
        }
    }
}
