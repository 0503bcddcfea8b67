//! Small graphs of the literature that several tests plan: seconds per task and processor, and
//! dependencies with their data.

pub(crate) type Seconds = [[f64; 3]; 10];
pub(crate) type Edges = [(u32, u32, f64); 15];

/// Figure 1 of Arabnejad, Barbosa, IEEE TPDS 25(3), 2014.
pub(crate) const PEFT: (Seconds, Edges) = (PEFT_SECONDS, PEFT_EDGES);

const PEFT_SECONDS: Seconds = [
    [22., 21., 36.],
    [22., 18., 18.],
    [32., 27., 43.],
    [7., 10., 4.],
    [29., 27., 35.],
    [26., 17., 24.],
    [14., 25., 30.],
    [29., 23., 36.],
    [15., 21., 8.],
    [13., 16., 33.],
];

const PEFT_EDGES: Edges = [
    (0, 1, 17.),
    (0, 2, 31.),
    (0, 3, 29.),
    (0, 4, 13.),
    (0, 5, 7.),
    (1, 7, 3.),
    (1, 8, 30.),
    (2, 6, 16.),
    (3, 7, 11.),
    (3, 8, 7.),
    (4, 8, 57.),
    (5, 7, 5.),
    (6, 9, 9.),
    (7, 9, 42.),
    (8, 9, 7.),
];
