// Package scenario runs simulations that a file describes: which protocol, how
// many nodes, what their network is like, what happens when, and what is
// expected of it. The language is in docs/scenarios.md.
//
// A file names the [Protocol] that it uses. The protocol's adapter makes an
// [Instance] for each run: a network of package sim or simlnd, with the values
// that conditions can refer to. This package applies the faults and evaluates
// the conditions. It knows neither the protocol nor its messages.
//
// Everything random comes from the seed: the same file, nodes and seed give
// the same digest.
package scenario
