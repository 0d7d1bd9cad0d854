// Package zonesim runs zones in the simulator: it is the protocol "zone" of scenarios, and the
// base of benchmarks of package zone.
//
// The first nodes are the management zone, if there is one; the others are base zones of equal
// size. With stubs each base zone is a single node: the machine of the zone's active delegate,
// with a stub that sends it the messages of all other members (membership design, Sec. 5;
// MS-103). The management zone sees no difference to a whole zone.
//
// A [Net] records what is done to its nodes. By that ground truth it judges each event, and
// reports wrong ones, above all the removal of a healthy node.
package zonesim
