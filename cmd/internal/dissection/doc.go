// Package dissection shows the records of captures as text and as JSON, with the payloads of all
// protocols of this tree: gossip, zones, collectives, reliable multicast, client health, and selftest.
//
// [Protocols] parse the payloads of one source, [Printer]s print what they return, and a [Filter]
// selects. What is printed of a record is bounded by its size, and no input causes a panic: whatever
// is wrong in it is shown. Texts of other nodes are quoted. Nothing here is safe for concurrent use.
package dissection
