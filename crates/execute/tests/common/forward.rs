//! What a backend around another one does not do itself.

/// The named methods of a backend, done by its `inner` one.
macro_rules! forward {
    ($($method:ident)*) => { $($crate::common::forward::forward!(@$method);)* };
    (@abilities) => {
        fn abilities(&self) -> slackline_execute::Abilities {
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
            op: slackline_execute::OpId,
            work: slackline_execute::Computation<'_>,
        ) -> Result<slackline_execute::Accepted, slackline_execute::OpError> {
            self.inner.compute(op, work)
        }
    };
    (@transfer) => {
        fn transfer(
            &mut self,
            op: slackline_execute::OpId,
            movement: slackline_execute::Movement<'_>,
        ) -> Result<slackline_execute::Accepted, slackline_execute::OpError> {
            self.inner.transfer(op, movement)
        }
    };
    (@cancel) => {
        fn cancel(
            &mut self,
            op: slackline_execute::OpId,
        ) -> Result<(), slackline_execute::BackendError> {
            self.inner.cancel(op)
        }
    };
    (@delete) => {
        fn delete(
            &mut self,
            file: slackline_model::FileId,
            host: slackline_model::HostId,
        ) -> Result<(), slackline_execute::BackendError> {
            self.inner.delete(file, host)
        }
    };
    (@lease) => {
        fn lease(
            &mut self,
            op: slackline_execute::OpId,
            order: slackline_execute::Order,
        ) -> Result<slackline_execute::Accepted, slackline_execute::OpError> {
            self.inner.lease(op, order)
        }
    };
    (@release) => {
        fn release(
            &mut self,
            lease: slackline_execute::OpId,
        ) -> Result<(), slackline_execute::BackendError> {
            self.inner.release(lease)
        }
    };
    (@reattach) => {
        fn reattach(
            &mut self,
            open: &[slackline_execute::Open],
            heard: u64,
        ) -> Result<(), slackline_execute::BackendError> {
            self.inner.reattach(open, heard)
        }
    };
    (@measure) => {
        fn measure(&mut self, ops: &[slackline_execute::OpId]) -> Vec<f64> {
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
            signals: &mut Vec<slackline_execute::Signal>,
        ) -> Result<slackline_execute::Reached, slackline_execute::BackendError> {
            self.inner.next(until, signals)
        }
    };
    (@outlook) => {
        fn outlook(&mut self, quiet_since: f64) -> slackline_execute::Outlook {
            self.inner.outlook(quiet_since)
        }
    };
}

pub(crate) use forward;
