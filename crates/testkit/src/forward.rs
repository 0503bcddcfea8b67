//! Forwarding of methods from a wrapping backend to the inner one.

/// Implements the named methods of [`slackline_engine::Backend`] by calls of the field `inner`.
#[macro_export]
macro_rules! forward {
    ($($method:ident)*) => { $($crate::forward!(@$method);)* };
    (@abilities) => {
        fn abilities(&self) -> slackline_engine::Abilities {
            self.inner.abilities()
        }
    };
    (@charges) => {
        fn charges(&self) -> slackline_model::platform::Charges {
            self.inner.charges()
        }
    };
    (@now) => {
        fn now(&self) -> f64 {
            self.inner.now()
        }
    };
    (@compute) => {
        fn compute(
            &mut self,
            op: slackline_engine::OpId,
            work: slackline_engine::Computation<'_>,
        ) -> Result<slackline_engine::Accepted, slackline_engine::OpError> {
            self.inner.compute(op, work)
        }
    };
    (@transfer) => {
        fn transfer(
            &mut self,
            op: slackline_engine::OpId,
            movement: slackline_engine::Movement<'_>,
        ) -> Result<slackline_engine::Accepted, slackline_engine::OpError> {
            self.inner.transfer(op, movement)
        }
    };
    (@cancel) => {
        fn cancel(
            &mut self,
            op: slackline_engine::OpId,
        ) -> Result<(), slackline_engine::BackendError> {
            self.inner.cancel(op)
        }
    };
    (@delete) => {
        fn delete(
            &mut self,
            file: slackline_model::FileId,
            host: slackline_model::HostId,
        ) -> Result<(), slackline_engine::BackendError> {
            self.inner.delete(file, host)
        }
    };
    (@lease) => {
        fn lease(
            &mut self,
            op: slackline_engine::OpId,
            order: slackline_engine::Order,
        ) -> Result<slackline_engine::Accepted, slackline_engine::OpError> {
            self.inner.lease(op, order)
        }
    };
    (@release) => {
        fn release(
            &mut self,
            lease: slackline_engine::OpId,
        ) -> Result<(), slackline_engine::BackendError> {
            self.inner.release(lease)
        }
    };
    (@reattach) => {
        fn reattach(
            &mut self,
            open: &[slackline_engine::Open],
            heard: u64,
        ) -> Result<(), slackline_engine::BackendError> {
            self.inner.reattach(open, heard)
        }
    };
    (@measure) => {
        fn measure(&mut self, ops: &[slackline_engine::OpId]) -> Vec<f64> {
            self.inner.measure(ops)
        }
    };
    (@observe) => {
        fn observe(&mut self, view: &mut slackline_model::problem::View) {
            self.inner.observe(view);
        }
    };
    (@next) => {
        fn next(
            &mut self,
            until: f64,
            signals: &mut Vec<slackline_engine::Signal>,
        ) -> Result<slackline_engine::Reached, slackline_engine::BackendError> {
            self.inner.next(until, signals)
        }
    };
    (@outlook) => {
        fn outlook(&mut self, quiet_since: f64) -> slackline_engine::Liveness {
            self.inner.outlook(quiet_since)
        }
    };
}
