//! From measurements on a cluster to the settings of a replay.
//!
//! Ping-pong times give latency and bandwidth by size as factors of the platform's nominal ones;
//! times inside send and receive give the overheads; bursts of computation give rates by length;
//! concurrent transfers in both directions give the limiter of a node.

mod data;
mod fit;

pub use data::{Measurements, read};
pub use fit::{Affine, Criterion, Piece, Point, mean_log_error, pieces};

use std::fmt::Write as _;

/// Most segments that are tried.
const MOST_PIECES: usize = 8;

/// Fewest bursts in a class of lengths.
const FEWEST_BURSTS: usize = 30;

/// The size below which sends are detached unless something else is measured: SMPI's default.
const DETACHED: f64 = 65536.0;

/// The results of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Latency and bandwidth by size.
    pub transfer: Vec<Piece>,
    /// One latency and one bandwidth: from a small message and the achievable bandwidth, and the
    /// best ones.
    pub plain: Affine,
    /// The best single pair of latency and bandwidth.
    pub best: Affine,
    /// Mean logarithmic errors of the plain pair, the best pair and the segments.
    pub errors: [f64; 3],
    /// Time inside send by size.
    pub send: Vec<Piece>,
    /// Time inside a non-blocking send by size.
    pub isend: Vec<Piece>,
    /// Time inside receive by size.
    pub receive: Vec<Piece>,
    /// From this size on the sender waits for the transfer.
    pub detached_below: Option<f64>,
    /// Flop/s by flop of a burst.
    pub rates: Vec<(f64, f64)>,
    /// Bandwidth of a node that sends and receives at once, divided by that of one direction alone.
    pub limiter: Option<f64>,
}

/// Fits everything there is data for, segments chosen `by` one of two meanings of best.
pub fn calibrate(data: &Measurements, by: Criterion) -> Option<Calibration> {
    let transfer = pieces(&data.transfer, MOST_PIECES, by)?;
    let plain = Affine::plain(&data.transfer)?;
    let best = Affine::best(&data.transfer)?;
    let errors = [
        mean_log_error(&data.transfer, |s| plain.at(s)),
        mean_log_error(&data.transfer, |s| best.at(s)),
        mean_log_error(&data.transfer, |s| fit::at(&transfer, s)),
    ];
    let overhead = |points: &[Point]| pieces(points, MOST_PIECES, by).unwrap_or_default();
    Some(Calibration {
        detached_below: threshold(&data.send, &transfer),
        send: overhead(&data.send),
        isend: overhead(&data.isend),
        receive: overhead(&data.receive),
        rates: rates(&data.bursts),
        limiter: limiter(&data.both_ways),
        transfer,
        plain,
        best,
        errors,
    })
}

/// The size from which on a send lasts at least half as long as the transfer.
fn threshold(send: &[Point], transfer: &[Piece]) -> Option<f64> {
    let mut sorted = send.to_vec();
    sorted.sort_by(|a, b| a.size.total_cmp(&b.size));
    let waits = |p: &Point| p.time >= 0.5 * fit::at(transfer, p.size);
    // Outliers aside: the place that leaves the fewest on the wrong side.
    let total = sorted.iter().filter(|p| !waits(p)).count();
    let (mut wrong, mut best) = (total, (total, 0));
    for (k, point) in sorted.iter().enumerate() {
        wrong = if waits(point) { wrong + 1 } else { wrong - 1 };
        if wrong < best.0 {
            best = (wrong, k + 1);
        }
    }
    sorted.get(best.1).filter(|_| best.1 > 0).map(|p| p.size)
}

/// Rate of every class of bursts: classes double in length and have enough bursts each.
fn rates(bursts: &[Point]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<Point> = bursts.iter().copied().filter(|b| b.size > 0.0).collect();
    sorted.sort_by(|a, b| a.size.total_cmp(&b.size));
    let mut rates = Vec::new();
    let (mut from, mut flops, mut seconds, mut count) = (0.0, 0.0, 0.0, 0);
    for (k, burst) in sorted.iter().enumerate() {
        flops += burst.size;
        seconds += burst.time;
        count += 1;
        let next = sorted.get(k + 1);
        let class = |b: &Point| b.size.log2().floor();
        let full = count >= FEWEST_BURSTS && sorted.len() - k > FEWEST_BURSTS;
        if next.is_none() || (full && next.is_some_and(|next| class(next) != class(burst))) {
            rates.push((from, flops / seconds));
            (from, flops, seconds, count) = (burst.size, 0.0, 0.0, 0);
        }
    }
    rates
}

/// Sum of both directions against the best single direction.
fn limiter(both_ways: &[(f64, f64)]) -> Option<f64> {
    let one = both_ways.iter().map(|&(out, back)| out.max(back)).fold(0.0, f64::max);
    let mut sums: Vec<f64> = both_ways.iter().map(|&(out, back)| out + back).collect();
    sums.sort_by(f64::total_cmp);
    (one > 0.0).then(|| sums[sums.len() / 2] / one)
}

/// A transfer divided into what a replay adds up: time inside send, on the network, inside receive.
struct Parts {
    network: Vec<Piece>,
    send: Vec<Piece>,
    isend: Vec<Piece>,
}

/// Straight lines between the values of a function of the size at the begin and the end of each interval, with neither
/// constant nor slope below zero.
fn lines(breaks: &[f64], last: f64, value: &dyn Fn(f64) -> f64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (k, &from) in breaks.iter().enumerate() {
        let next = breaks.get(k + 1).copied().unwrap_or(last.max(2.0 * from + 1.0));
        // The function may jump at both ends.
        let begin = from + 1e-6 * (next - from);
        let end = next - 1e-6 * (next - from);
        let (first, last) = (value(begin), value(end));
        let slope = (last - first) / (end - begin);
        let (constant, slope) = if slope < 0.0 {
            (0.5 * (first + last), 0.0)
        } else if first < slope * begin {
            (0.0, last / end)
        } else {
            (first - slope * begin, slope)
        };
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(1e-15);
        let goes_on = |p: &Piece| close(p.constant, constant) && close(p.slope, slope);
        if !pieces.last().is_some_and(goes_on) {
            pieces.push(Piece { from, constant, slope, correlation: f64::NAN });
        }
    }
    pieces
}

impl Calibration {
    /// The size below which a replay lets the sender go on, and charges times inside send and receive.
    fn detached_limit(&self) -> f64 {
        self.detached_below.unwrap_or(DETACHED)
    }

    /// The parts of a message, which add up to its time in the ping-pong. Where copying in and out overlaps (as in shared
    /// memory), the times inside send and receive are longer together than the transfer: the receiver's counts.
    fn parts(&self) -> Parts {
        let limit = self.detached_limit();
        let fitted = |pieces: &[Piece], size: f64| fit::at(pieces, size).max(0.0);
        let total = |size: f64| fitted(&self.transfer, size);
        let receive = |size: f64| if size < limit { fitted(&self.receive, size) } else { 0.0 };
        let within = |pieces: &[Piece], size: f64| {
            if size < limit {
                fitted(pieces, size).min((total(size) - receive(size)).max(0.0))
            } else {
                0.0
            }
        };
        let mut breaks: Vec<f64> = [&self.transfer, &self.send, &self.isend, &self.receive]
            .into_iter()
            .flat_map(|pieces| pieces.iter().map(|p| p.from))
            .chain([limit])
            .collect();
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        let last = breaks.last().copied().unwrap_or_default();
        let network = |size: f64| (total(size) - within(&self.send, size) - receive(size)).max(0.0);
        let network = lines(&breaks, last, &network);
        let lines_of = |pieces: &[Piece]| {
            if pieces.is_empty() {
                Vec::new()
            } else {
                lines(&breaks, last, &|size| within(pieces, size))
            }
        };
        Parts { network, send: lines_of(&self.send), isend: lines_of(&self.isend) }
    }

    /// The settings, in SimGrid's words, for a platform with this latency (s) and bandwidth
    /// (bytes/s) from end to end.
    pub fn settings(&self, latency: f64, bandwidth: f64) -> Vec<(&'static str, String)> {
        let parts = self.parts();
        let steps = |value: &dyn Fn(&Piece) -> f64| {
            let step = |p: &Piece| format!("{}:{:.6e}", p.from.floor(), value(p));
            parts.network.iter().map(step).collect::<Vec<_>>().join(";")
        };
        let overhead = |pieces: &[Piece]| {
            let step = |p: &Piece| format!("{}:{:.6e}:{:.6e}", p.from.floor(), p.constant, p.slope);
            pieces.iter().map(step).collect::<Vec<_>>().join(";")
        };
        let mut settings = vec![
            ("smpi/lat-factor", steps(&|p| p.constant / latency)),
            ("smpi/bw-factor", steps(&|p| p.rate(bandwidth) / bandwidth)),
        ];
        if let Some(size) = self.detached_below {
            settings.push(("smpi/send-is-detached-thresh", format!("{}", size.floor())));
        }
        for (key, pieces) in
            [("smpi/os", &parts.send), ("smpi/ois", &parts.isend), ("smpi/or", &self.receive)]
        {
            // Above the threshold the time inside send is that of the transfer.
            let own: Vec<Piece> =
                pieces.iter().filter(|p| p.from < self.detached_limit()).copied().collect();
            if !own.is_empty() {
                settings.push((key, overhead(&own)));
            }
        }
        if !self.rates.is_empty() {
            let step = |(from, rate): &(f64, f64)| format!("{from}:{rate:.6e}");
            let rates = self.rates.iter().map(step).collect::<Vec<_>>().join(";");
            settings.push(("compute/rates", rates));
        }
        settings
    }

    /// The settings as TOML, to be given to `replay --config`.
    pub fn toml(&self, latency: f64, bandwidth: f64) -> String {
        let mut text = String::new();
        for (key, value) in self.settings(latency, bandwidth) {
            let _ = writeln!(text, "\"{key}\" = \"{value}\"");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A steady stream of numbers between -1 and 1.
    fn noise(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// The published three segments: above bytes, factors of latency and bandwidth.
    const TABLE: [(f64, f64, f64); 3] =
        [(0.0, 1.0056, 0.2758), (1024.0, 1.8805, 0.5477), (32768.0, 22.7111, 0.9359)];

    /// Ping-pong on the published segments, latency 100 us and 125 MB/s, with noise of a relative
    /// standard deviation.
    fn published(deviation: f64, seed: u64) -> Measurements {
        let mut state = seed;
        let mut data = Measurements::default();
        for k in 0..1000 {
            let size = (f64::from(k) / 1000.0 * (100.0f64 * 1024.0 * 1024.0).ln()).exp().floor();
            let step = TABLE.iter().rev().find(|step| step.0 < size).unwrap_or(&TABLE[0]);
            let time = step.1 * 1e-4 + size / (step.2 * 1.25e8);
            // The sum of twelve uniform draws on (-1, 1) has a standard deviation of 2.
            let bell: f64 = (0..12).map(|_| noise(&mut state)).sum::<f64>() * 0.5;
            data.transfer.push(Point { size, time: time * (1.0 + deviation * bell) });
            let inside = if size < 65536.0 { 2e-6 + 1e-9 * size } else { time };
            data.send.push(Point { size, time: inside });
        }
        data
    }

    /// Whether three segments were found, all numbers within 10 % of the table's.
    fn recovered(found: &[Piece]) -> bool {
        let close = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.1;
        found.len() == TABLE.len()
            && found.iter().zip(TABLE).all(|(piece, (from, latency, bandwidth))| {
                (from == 0.0 || close(piece.from, from))
                    && close(piece.constant / 1e-4, latency)
                    && close(1.0 / (piece.slope * 1.25e8), bandwidth)
            })
    }

    fn share_recovered(by: Criterion, noise: f64, seeds: u64) -> f64 {
        let fit = |seed| pieces(&published(noise, 7 + seed).transfer, MOST_PIECES, by);
        (0..seeds).filter_map(fit).filter(|found| recovered(found)).count() as f64 / seeds as f64
    }

    #[test]
    fn small_errors_recover_the_table_from_noise() {
        for noise in [0.0, 0.01, 0.05] {
            assert_eq!(share_recovered(Criterion::RelativeError, noise, 10), 1.0, "noise {noise}");
        }
    }

    #[test]
    fn high_correlations_recover_the_table_from_clean_data_only() {
        for noise in [0.0, 0.01] {
            assert_eq!(share_recovered(Criterion::Correlation, noise, 10), 1.0, "noise {noise}");
        }
        // The slope below 1 KiB drowns: the two small segments become one.
        assert_eq!(share_recovered(Criterion::Correlation, 0.05, 10), 0.0);
        let data = published(0.05, 7).transfer;
        let found = pieces(&data, MOST_PIECES, Criterion::Correlation).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn segments_beat_the_best_pair_which_beats_the_plain_one() {
        let found = calibrate(&published(0.05, 7), Criterion::default()).unwrap();
        assert!(recovered(&found.transfer), "{:?}", found.transfer);
        assert!(found.errors[2] < found.errors[1] && found.errors[1] < found.errors[0]);
        let detached = found.detached_below.unwrap();
        assert!((detached / 65536.0 - 1.0).abs() < 0.05, "{detached}");
        assert!(found.toml(1e-4, 1.25e8).contains("\"smpi/lat-factor\" = \"0:"));
    }

    /// Seconds of a ping-pong that a replay adds up from the settings, on a platform of 1 us and 1 GB/s.
    fn replayed(found: &Calibration, size: f64) -> f64 {
        let settings = found.settings(1e-6, 1e9);
        let step = |key: &str| -> Vec<f64> {
            let Some((_, text)) = settings.iter().find(|(name, _)| *name == key) else {
                return vec![0.0; 3];
            };
            let steps = text.split(';').map(|s| s.split(':').map(|v| v.parse().unwrap()).collect());
            let steps: Vec<Vec<f64>> = steps.collect();
            steps.iter().rev().find(|s| s[0] < size).unwrap_or(&steps[0]).clone()
        };
        let (lat, bw) = (step("smpi/lat-factor")[1], step("smpi/bw-factor")[1]);
        let inside = |key| step(key)[1] + step(key)[2] * size;
        let overheads =
            if size < found.detached_limit() { inside("smpi/os") + inside("smpi/or") } else { 0.0 };
        lat * 1e-6 + size / (bw * 1e9) + overheads
    }

    #[test]
    fn what_a_replay_adds_up_is_the_ping_pong() {
        // A network, whose overheads are a part of the transfer; shared memory, where copying in and out overlap.
        for (inside, latency, slope) in [(0.2, 20e-6, 8e-10), (0.95, 0.2e-6, 1e-10)] {
            let mut data = Measurements::default();
            for k in 1..400 {
                let size = (f64::from(k) / 400.0 * 1e6_f64.ln()).exp().ceil();
                let time = latency + slope * size;
                let detached = if size < 65536.0 { inside * time } else { time };
                data.transfer.push(Point { size, time });
                data.send.push(Point { size, time: detached });
                data.isend.push(Point { size, time: 0.1 * time });
                data.receive.push(Point { size, time: inside * time });
            }
            let found = calibrate(&data, Criterion::default()).unwrap();
            for size in [10.0, 100.0, 1000.0, 20_000.0, 300_000.0] {
                let (expected, sum) = (latency + slope * size, replayed(&found, size));
                assert!(
                    (sum / expected - 1.0).abs() < 0.02,
                    "{inside} {size}: {sum} for {expected}"
                );
            }
        }
    }

    #[test]
    fn rates_are_sums_over_sums() {
        let mut data = Measurements::default();
        for k in 0..200 {
            let flop = if k % 2 == 0 { 1e3 } else { 1e6 };
            let rate = if k % 2 == 0 { 1e8 } else { 1e9 };
            data.bursts.push(Point { size: flop, time: flop / rate });
        }
        let found = rates(&data.bursts);
        assert_eq!(found.len(), 2);
        assert!((found[0].1 - 1e8).abs() < 1.0 && (found[1].1 - 1e9).abs() < 1.0);
        assert_eq!(found[1].0, 1e3);
    }

    #[test]
    fn both_directions_at_once_give_the_limiter() {
        assert_eq!(limiter(&[(1e8, 0.0), (75e6, 75e6), (74e6, 76e6)]), Some(1.5));
    }
}
