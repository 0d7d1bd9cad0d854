// Package control is the daemon's control interface: HTTP/1.1 with JSON on a
// Unix socket, its server and its client.
//
// Package node declares what can be asked, each operation once, as a value: a [Question], a
// [Command], an [Action] or an [Operation], with its path, its types and what it does. A node
// makes routes of them, which a [Server] serves; commands call them with a [Client]; and
// docs/control.md is made of them.
//
// A request is one JSON object on one line; data follow it as they are, to the
// end of the body; that of a question is its query. Steps are JSON objects on a line each;
// payload bytes follow the line that announces them. The last step says how the
// operation ended; a client that closes its connection ends the operation.
//
// An answer other than 200 has the body {"error": {...}}, see [Error].
//
// # Who may do what
//
// The socket has mode 0660, and the credentials of whoever connects decide:
// the daemon's user and root may do everything, members of the socket's group
// may GET, all others get nothing.
//
// # Bounds
//
// Requests (64 KiB), connections, streams and the time for each part of a
// request and of its answer are bounded.
package control
