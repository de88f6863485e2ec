//! The reference model of the ports, in memory.
