//! The project file over programs of every shape: what is saved comes back, a
//! damaged file is refused, and no accident costs more than the last save.

mod crash;
mod damage;
mod places;
mod round_trip;
mod sample;
