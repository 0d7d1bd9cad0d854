// Package history records what the programs of a simulation report, and as the
// ground truth what was done to their nodes and links. Checkers compare the two.
//
// A [Log] is append-only and compact. Programs report by events whose kind is a [Kind]:
// joins, deaths, deliveries, completions. The ground truth comes from the
// sim.Control that the log wraps:
//
//	log := history.New()
//	history.Watch(log, &cfg)            // events and starts
//	network, err := sim.New(cfg)
//	control := log.Control(network)     // kills, pauses, partitions, …
//	…                                   // use control
//	for _, v := range history.NoFalse(log, 5*time.Second) { … }
//
// Checkers are pure functions of a log: equal logs give equal violations, in
// the same order. They see whole logs and may take memory like the log's own.
// Each returns at most [maxViolations], each with at most [maxRecords] records
// that show it; none means that the rule holds.
//
// A Log is not safe for concurrent use; checkers may share one that does not change any
// more.
package history
