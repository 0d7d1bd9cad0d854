// Package router keeps the accounts of a node that forwards messages between its nets
// (lnet-semantics §12.4). It decides which message gets a buffer next, and which credits of its
// sender that takes. It does not move messages or parse headers; package lnet does that.
//
// # Credits and buffers
//
// A message that is to be forwarded needs one router credit of the neighbour that it
// comes from (peer_buffer_credits) and one buffer of its class: tiny without payload,
// small up to a page, large up to 1 MiB. It waits while there is none, with its payload
// unread, which stalls its connection. Messages of one neighbour wait in their order;
// neighbours that wait for a buffer take turns. The buffer is filled completely before the
// message goes on (store and forward), so a slow sender does not occupy the connection to a
// next hop. Credit and buffer return when the message has left.
//
// # Bounds
//
// The counts of buffers are those that kernels show, but memory is allocated when it is used
// and its sum is bounded (Config.Memory): a quarter of it, at most, is for small buffers, the
// rest for large ones. No next hop has more buffers of a class than are free (the dynamic
// threshold of shared-memory switches), so that a next hop that accepts nothing leaves
// buffers for all others; local policy.
//
// A next hop to which no message has left for StallTime, although some are under way, has
// stalled. All messages under way to it give their router credits back and take extra credits
// instead. Further messages to that next hop take extra credits, too, and are refused if their sender has
// as many of these in use as it has router credits. So nodes that do not accept their answers do not prevent
// their servers from answering other nodes while buffers are free, however many such nodes there are. Local
// policy: kernels let the server wait.
//
// A message whose payload arrives keeps its buffer from others while another sender, which is not slow, waits for a
// buffer of its class or for the share of its next hop. Its sender is charged for that time, except for the first
// fairTime. A sender that has kept buffers from others for more than FillTime in slowTime, added up over its messages,
// is slow, and all slow senders together have no more than a third of the buffers of a class that are free. If a single
// message keeps its buffer from others for FillTime, Late returns it: the caller ends the connections of the sender,
// which is slow for slowTime. So nodes that begin messages and do not end them, or end them late, delay those of others
// for less than a minute in slowTime. Those that end each message within fairTime are not slow, however many they are.
// Local policy: kernels wait.
//
// All types are plain values: a caller that has several goroutines brings its own lock.
package router
