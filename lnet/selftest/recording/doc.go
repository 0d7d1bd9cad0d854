// Package recording reads recordings of lnet_selftest for tests that put a node or a console of
// ours in the place of a recorded kernel node: what the nodes sent ([Read]), which commands a
// console must have got ([Steps] and the scripts of recordings with a transcript), and in what the
// bytes of our node may differ ([Differences]), each with the sentence of docs/spec/selftest.md
// that allows it.
package recording
