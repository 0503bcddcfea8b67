//! The first plan: what `static` would follow, with the window that suits it, unless another plan is
//! clearly better.

use super::context::{Levels, PlanningContext};
use super::improve;
use super::level_model::LevelModel;
use super::rollouts::{self, Choice};
use super::search::sort;
use super::{
    DRAWS, EVALUATIONS, FIRST, FIRST_GAIN, FIRST_LASTS, HORIZON, NEAR_TIE, SHORTLIST, STATIC,
    Slackline, WINDOWS,
};
use crate::plan_simulator::LevelForecast;
use crate::policy::{Decision, Plan};
use crate::situation::Situation;
use slackline_model::problem::View;

impl Slackline {
    pub(super) fn begin(
        &mut self,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        self.rank_tasks(now)?;
        self.rollouts.begin(now.tasks.len());
        let problem = now.problem().map_err(|e| e.to_string())?;
        let plain = self.plain(now);
        let length = plain.as_ref().map_or(0.0, |(_, makespan)| *makespan);
        let levels = Levels::at_first(now, now.now + FIRST_LASTS * length);
        let prospect = levels.prospect(now)?;
        let context = prospect.context(&problem, now);
        let best = self.first_choice(&context, plain.map(|(plan, _)| plan), &levels)?;
        self.begun = true;
        let peak = View {
            availability: vec![1.0; now.view.availability.len()],
            network: now.peak_network.regrouped(&now.view.network),
        };
        self.history.begin(now);
        self.baseline.begin(now);
        self.level_model.begin(peak, &now.view, now.now);
        let seconds = best.forecast.makespan - now.now;
        self.least_period = (seconds / EVALUATIONS).max(f64::MIN_POSITIVE);
        self.period = self.least_period;
        self.last_evaluation = now.now;
        self.adopt(&context, best, decisions);
        Ok(())
    }

    /// The plan `static` would follow, with the window that suits it, unless another plan is clearly better.
    fn first_choice(
        &mut self,
        context: &PlanningContext<'_, '_>,
        plain: Option<Plan>,
        levels: &Levels,
    ) -> Result<Choice, String> {
        let now = context.now;
        let best = plain.as_ref().and_then(|plan| self.first_window(context, plan, levels));
        self.first = best.as_ref().map(|best| best.plan.clone()).or(plain);
        let made = self.first_plans(context);
        let followed = best.as_ref().map_or(f64::INFINITY, |b: &Choice| b.forecast.makespan);
        let limit = now.now + (followed - now.now) * (1.0 - FIRST_GAIN);
        let mut others: Vec<Choice> = Vec::new();
        for (origin, plan) in &made {
            let mut other = None;
            self.try_windows(context, (origin, plan), &WINDOWS, limit, &mut other);
            others.extend(other);
        }
        sort(&mut others);
        others.truncate(SHORTLIST);
        let Some(best) = best else {
            return others.into_iter().next().ok_or("no planner finds a plan".to_string());
        };
        self.add_improved(context, &best, improve::AT_FIRST, limit, &mut others);
        others.truncate(SHORTLIST);
        let courses = first_courses(now, levels, followed - now.now);
        self.select("the run begins", context, best, others, &courses, FIRST)
            .ok_or_else(|| "no planner finds a plan".to_string())
    }

    /// The plan `static` would follow with each window: the best in roll-outs, where the effort allows them, else by
    /// forecast; near-ties go to the earlier window.
    fn first_window(
        &mut self,
        context: &PlanningContext<'_, '_>,
        plan: &Plan,
        levels: &Levels,
    ) -> Option<Choice> {
        let now = context.now;
        let mut choices: Vec<Choice> = Vec::new();
        for transfers in WINDOWS {
            let plan = Plan { transfers, ..plan.clone() };
            let forecast = self.forecaster.follow(&context.future, &plan, f64::INFINITY);
            if forecast.makespan.is_finite() {
                choices.push(Choice::new(STATIC, plan, forecast));
            }
        }
        let length = choices.first()?.forecast.makespan - now.now;
        let mut courses = first_courses(now, levels, length);
        // At most half of the effort, but for one course each.
        let affords = |plans| self.rollouts.affords(now, plans);
        courses.truncate(affords(2 * choices.len()).max(1).min(affords(choices.len())));
        let limit = 2.0 * HORIZON * length;
        let rolled =
            !courses.is_empty() && self.rollouts.follow(now, &mut choices, &courses, limit);
        let ends = |choice: &Choice| {
            if rolled {
                rollouts::mean(&choice.followed)
            } else {
                choice.forecast.makespan - now.now
            }
        };
        let best = choices.iter().enumerate().reduce(|best, next| {
            if ends(next.1) < ends(best.1) * (1.0 - NEAR_TIE) { next } else { best }
        });
        let at = best.map(|(at, _)| at)?;
        let best = choices.swap_remove(at);
        Some(Choice { followed: Vec::new(), ..best })
    }
}

/// Draws of what may become of the levels of the start, if they differ.
fn first_courses(now: &Situation, levels: &Levels, length: f64) -> Vec<LevelForecast> {
    let Some((date, _)) = &levels.later else { return vec![LevelForecast::lasting(now)] };
    let (mean, until) = (date - now.now, now.now + HORIZON * length);
    (0..DRAWS).map(|draw| LevelModel::draw_first_forecast(now, mean, until, draw as u64)).collect()
}
