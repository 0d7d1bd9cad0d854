// Package zonesim runs zones in the simulator: it is the protocol "zone" of scenarios,
// and what benchmarks of package zone use.
//
// The first nodes are the management zone, if there is one; the others are base zones of
// equal size. With stubs each base zone is a single node: a machine that is the zone's
// active delegate, and in place of all other members what it hears of them (membership design,
// Sec. 5; MS-103). Towards the management zone that is a whole zone.
//
// A [Net] knows what is done to its nodes, so that it can say at any time which of the
// things that they say are wrong: that one is gone which is fine, first of all.
package zonesim
