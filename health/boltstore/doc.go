// Package boltstore keeps the connections of clients, and the tombstones of those
// that were evicted, over a restart of their server: it is a [health.Store] in a bbolt
// database, which lnetd has in its state directory (client health design, Definitions; rows CH-4,
// CH-65 and CH-66).
//
// # Durability
//
// What is saved waits for the commit under way, and then goes with all else that
// waits, in one commit; callbacks are called when that is on the disk (fdatasync
// has returned), in the order of the calls. A process that is killed at any
// point has lost nothing that was called back: a test kills one at each of its
// writes. That is not a power failure: whether bytes survive one once fdatasync
// has returned is up to the disk and the file system, and no test here shows it.
//
// A commit that fails, for want of room or on a file system that has become
// read-only, fails for each record in it, and what was there stays. The database
// is opened again before the next one, because a failed commit leaves open what
// is on the disk. A record that was reported as failed may thus come back after a
// restart: its client was refused, and nobody confirms it then (CH-66).
//
// # Damage
//
// bbolt maps its file and believes it: a damaged one can kill the process, or
// look like an empty one. So the file is checked by a child process, this program
// with the argument [Verb], whose main calls [Child], each time before it is opened.
// The check reads all of bbolt's pages, both meta pages (bbolt takes the one of the
// commit before when that of the latest is damaged), all records with their
// checksums, and counts them. A damaged file is renamed and reported, and a new one
// takes its place: then no client is known, and each connects again. An empty file
// is damage: databases get their name when they are whole. A test damages every
// byte of a file, and cuts it anywhere.
//
// A page that cannot be read while the file is open (SIGBUS), or is not what bbolt
// wrote, is [ErrFault] for the calls that met it. The file is then checked and opened
// again for the next call, but the checks take no more than a twentieth of the time.
//
// # Format
//
// The database has three buckets.
//
//	meta         "format" → "ulnet connections" and the version, 1, as one byte
//	             "tally" → the number of the commit, of clients and of tombstones,
//	             8 bytes each, and the checksum of these; versions before 2026-11-25
//	             leave it as it was, which the number of the commit shows
//	clients      8 bytes, a number, big endian → record
//	tombstones   8 bytes, Until in nanoseconds since 1970, big endian, and the
//	             client, 16 bytes → its incarnation, 8 bytes, and the checksum
//
// Numbers of clients rise, so that those who come together lie together; a client
// keeps its number. All else is little endian. A record is
//
//	 0  16  client
//	16   8  incarnation
//	24   4  epoch
//	28   4  pid of the client's process
//	32  20  NID of the master, in its extended form (struct lnet_nid)
//	52  20  NID of the client
//	72   1  length of the name, then the name
//	 .   4  length of the export data, then these
//	 .   4  CRC-32C of all before
//
// The checksum of a tombstone is that of its key and its incarnation.
package boltstore
