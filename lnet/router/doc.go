// Package router keeps the accounts of a node that forwards messages between its nets
// (lnet-semantics §12.4): whose turn it is to have a buffer, for which message, and what
// that costs its sender. It moves no message and knows no header; package lnet does that.
//
// # Credits and buffers
//
// A message that is to be forwarded needs one router credit of the neighbour that it
// comes from (peer_buffer_credits) and one buffer of its class: tiny without payload,
// small up to a page, large up to 1 MiB. It waits while there is none, with its payload
// unread, which stalls its connection. Messages of one neighbour wait in their order;
// neighbours that wait for a buffer take turns. The buffer is filled whole before the
// message goes on (store and forward), so the speed of a sender never meets the
// connection to a next hop. Credit and buffer return when the message has left.
//
// # Bounds
//
// The counts of buffers are those that kernels show, but memory is taken when it is used
// and its sum is bounded (Config.Memory): a quarter of it, at most, is for small buffers,
// the rest for large ones. No next hop has more buffers of a class than are free (the
// dynamic threshold of shared-memory switches), so that one which takes nothing leaves
// room for all others; local policy.
//
// A next hop to which nothing has left for StallTime, although something is under way,
// has stalled. The messages under way to it give their credits back, as far as their
// senders have not as many extra ones in use, and further messages to it are refused beyond
// that. So a node that does not take its answers does not keep its servers from
// answering others. Local policy: kernels have the server wait.
//
// All types are plain values: a caller that has several goroutines brings its own lock.
package router
