//! `pypto::kernels`: eager, interpreted and compiled results are equal bit for bit, and near a reference in f64, over odd
//! extents and the float types.

mod attention;
mod compositions;
mod every_way;
mod inline;
mod models;
mod rows;
mod sizes;
