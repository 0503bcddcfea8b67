//! Names of methods with some of their parameters set: published variants, and names that were
//! there before the parameters.

use crate::list::{bil, cpop, dls, fcp, hcpt, heft, hps, lmt, lookahead, minmin, peft, pets};
use crate::moldable::several::{boxes, cra};
use crate::registry::Algorithm;
use crate::sweep;

/// A further name.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The method's name.
    pub of: &'static str,
    /// Parameters that the name sets; parameters from the request take precedence.
    pub set: &'static [(&'static str, &'static str)],
    /// The method under this name.
    pub algorithm: Algorithm,
}

macro_rules! alias {
    ($name:literal, $method:expr, $($parameter:literal = $value:literal),+; $about:literal) => {
        Alias {
            of: $method.name,
            set: &[$(($parameter, $value)),+],
            algorithm: Algorithm {
                name: $name,
                about: $about,
                plan: |problem, request| {
                    $method.plan(problem, &request.preset(&[$(($parameter, $value)),+]))
                },
                ..$method
            },
        }
    };
}

macro_rules! heuristic {
    ($name:literal, $method:expr) => {
        Alias { of: $method.name, set: &[], algorithm: Algorithm { name: $name, ..$method } }
    };
}

/// All further names, in the order of their methods.
#[rustfmt::skip] // a line each
pub const ALIASES: &[Alias] = &[
    alias!("heft-median", heft::RANK_VARIANT, "rank" = "median"; "HEFT, ranks from median execution times"),
    alias!("heft-worst", heft::RANK_VARIANT, "rank" = "worst"; "HEFT, ranks as if every task ran on its slowest processor"),
    alias!("heft-best", heft::RANK_VARIANT, "rank" = "best"; "HEFT, ranks as if every task ran on its fastest processor"),
    alias!("heft-simple-worst", heft::RANK_VARIANT, "rank" = "simple-worst"; "HEFT, ranks from slowest processors and slowest links"),
    alias!("heft-simple-best", heft::RANK_VARIANT, "rank" = "simple-best"; "HEFT, ranks from fastest processors and fastest links"),
    alias!("heft-meantime", heft::HEFT, "transfer" = "time"; "HEFT, ranks from mean transfer times"),
    alias!("cpop-meantime", cpop::CPOP, "transfer" = "time"; "CPOP, ranks from mean transfer times"),
    alias!("peft-meantime", peft::PEFT, "transfer" = "time"; "PEFT, costs from mean transfer times"),
    alias!("lookahead-independent", lookahead::RECALLED, "children" = "alone"; "Lookahead, every child judged as if it were alone"),
    alias!("lookahead-weighted", lookahead::RECALLED, "children" = "weighted"; "Lookahead, mean finish of the children weighted by their ranks"),
    alias!("lookahead-meantime", lookahead::LOOKAHEAD, "transfer" = "time"; "Lookahead, ranks from mean transfer times"),
    alias!("dls-median", dls::DLS, "exec" = "median"; "DLS with median instead of mean execution times"),
    alias!("hcpt-meantime", hcpt::HCPT, "transfer" = "time"; "HCPT, start times from mean transfer times"),
    alias!("hps-meantime", hps::HPS, "transfer" = "time"; "HPS, link costs from mean transfer times"),
    alias!("pets-meantime", pets::PETS, "transfer" = "time"; "PETS, ranks from mean transfer times"),
    alias!("bil-meantime", bil::BIL, "transfer" = "time"; "BIL, levels from mean transfer times"),
    alias!("fcp-meantime", fcp::FCP, "transfer" = "time"; "FCP, ranks and messages from mean transfer times"),
    alias!("lmt-merge", lmt::LMT, "merge" = "yes"; "level by level, merged into one group per processor"),
    alias!("maxmin", minmin::MIN_MIN, "choose" = "max"; "ready task of largest least completion time first"),
    alias!("sufferage", minmin::MIN_MIN, "choose" = "sufferage"; "ready task first that would lose most on its second best processor"),
    alias!("minmin-batch", minmin::MIN_MIN, "batch" = "yes"; "min-min, each ready set emptied before the next is let in"),
    alias!("maxmin-batch", minmin::MIN_MIN, "choose" = "max", "batch" = "yes"; "max-min, each ready set emptied before the next is let in"),
    alias!("sufferage-batch", minmin::MIN_MIN, "choose" = "sufferage", "batch" = "yes"; "sufferage, each ready set emptied before the next is let in"),
    heuristic!("h1", sweep::MIN_MIN),
    heuristic!("h2", sweep::MAX_MIN),
    heuristic!("h3", sweep::SUFFERAGE),
    heuristic!("h4", sweep::EXTENDED),
    heuristic!("h5", sweep::MIN_MIN_RANDOM),
    heuristic!("h6", sweep::MAX_MIN_RANDOM),
    heuristic!("h7", sweep::SUFFERAGE_RANDOM),
    heuristic!("h8", sweep::EXTENDED_RANDOM),
    heuristic!("h9", sweep::SUFFERAGE_2),
    heuristic!("xs", sweep::XSUFFERAGE),
    alias!("selfish-order", cra::SELFISH, "order" = "dedicated"; "selfish, the graph that is shortest alone first"),
    alias!("selfish-weight", cra::SELFISH, "order" = "weight"; "selfish, levels weighed by what graphs take alone"),
    alias!("cra-ndags-order", cra::NDAGS, "order" = "dedicated"; "cra-ndags, the graph that is shortest alone first"),
    alias!("cra-ndags-weight", cra::NDAGS, "order" = "weight"; "cra-ndags, levels weighed by what graphs take alone"),
    alias!("cra-cp-order", cra::CP, "order" = "dedicated"; "cra-cp, the graph that is shortest alone first"),
    alias!("cra-cp-weight", cra::CP, "order" = "weight"; "cra-cp, levels weighed by what graphs take alone"),
    alias!("cra-width-order", cra::WIDTH, "order" = "dedicated"; "cra-width, the graph that is shortest alone first"),
    alias!("cra-width-weight", cra::WIDTH, "order" = "weight"; "cra-width, levels weighed by what graphs take alone"),
    alias!("cra-work-order", cra::WORK, "order" = "dedicated"; "cra-work, the graph that is shortest alone first"),
    alias!("cra-work-weight", cra::WORK, "order" = "weight"; "cra-work, levels weighed by what graphs take alone"),
    alias!("cafm-cra-order", boxes::CRA, "order" = "dedicated"; "cafm-cra, the graph that is shortest alone first"),
    alias!("cafm-cra-weight", boxes::CRA, "order" = "weight"; "cafm-cra, levels weighed by what graphs take alone"),
];
