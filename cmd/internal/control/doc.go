// Package control is the daemon's control interface: HTTP/1.1 with JSON on a Unix socket, its
// server and its client.
//
// Packages node and daemon, the modules and this package declare each operation once, as a value: a [Question], a
// [Command], an [Action] or an [Operation], with its path, its types and its description. A
// node turns them into routes, which a [Server] serves; commands call them with a [Client]; and
// docs/control.md is generated from them.
//
// A request is one JSON object on one line, and any data up to the end of the body; the request
// of a question is the query of its URL. The answer to an operation is a sequence of steps, JSON
// objects, one per line; the payload of a step follows its line. The last line says how the
// operation ended. An operation also ends when its client closes the connection.
//
// An answer other than 200 has the body {"error": {...}}, see [Error].
//
// # Access
//
// The socket has mode 0660, and the credentials of the connecting process decide: the daemon's
// user and root may do everything, members of the socket's group may GET all but profiles of the
// process, all others are refused.
//
// # Bounds
//
// The size of requests (64 KiB, or what the operation says), the numbers of connections and streams, and the time for each
// part of a request and of its answer are bounded.
package control
