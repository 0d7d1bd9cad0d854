// Package boltstore is a [health.Store] in a bbolt database: it keeps the connections of
// clients, and tombstones of evictions, over a restart of their server (client health design,
// Definitions; rows CH-4, CH-65 and CH-66). lnetd has such a database in its state directory.
//
// # Durability
//
// Calls that arrive during a commit are collected into the next one (group commit). Callbacks
// run in the order of the calls, after fdatasync has returned. If the process is killed at any
// point, no change whose callback was called is lost; a test kills a process at each of its
// writes. Whether data survives a power failure after fdatasync has returned depends on the
// disk and the file system. No test here shows that.
//
// If a commit fails, because the disk is full or its file system has become read-only, each
// call in it fails, and the earlier content stays. The database is opened again before the next
// commit, because it is not known what a failed commit has left on the disk. A record whose
// save failed may therefore come back after a restart. That does no harm: its client was
// refused, and no master confirms it (CH-66). The next commit first writes bbolt's meta pages again,
// because a failed fdatasync may have left them in the kernel's cache only.
//
// # Damage
//
// bbolt maps its file into memory and does not verify it: a damaged file can kill the process,
// or look empty. So a child process checks the file each time before it is opened. The child is
// the program itself with the argument "boltstore-check", and its main calls [Child]. The check
// reads all pages of bbolt, both meta pages (when the latest is damaged, bbolt uses the one of
// the commit before), and all records with their checksums, and counts the records. A damaged
// file is renamed and reported, and an empty database replaces it. Then no client is known, and
// each connects again. An empty file counts as damaged, because a new database gets its name
// only when it is complete. A test damages every byte of a file, and truncates it anywhere.
//
// If a page cannot be read while the file is open (SIGBUS), or is not as bbolt wrote it, the
// calls that need the page fail with [ErrFault]. The file is then checked and opened again for
// the next call. The store waits between such checks, so that they take at most a twentieth of its
// time.
//
// # Format
//
// The database has four buckets.
//
//	meta         "format" → "ulnet connections" and the version, 1, as one byte
//	             "tally" → the number of the commit, of clients and of tombstones,
//	             8 bytes each, and the checksum of these; versions before 2026-11-25
//	             do not update it, which the number of the commit shows
//	             "epochs" → the number of the commit and of epochs, 8 bytes each,
//	             and the checksum of these; versions before 2026-11-29 do not
//	             update it
//	clients      8 bytes, a number, big endian → record
//	tombstones   8 bytes, Until in nanoseconds since 1970, big endian, and the
//	             client, 16 bytes → its incarnation, 8 bytes, and the checksum
//	epochs       the key of a tombstone → its epoch, 4 bytes, and the checksum;
//	             tombstones without an epoch are not there; versions before
//	             2026-11-29 do not read the bucket, which they do not make either
//
// Numbers of clients ascend, so that clients that connect together share pages; a client keeps
// its number. All else is little endian. A record is
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
// The checksum of a tombstone is that of its key and its incarnation, and the checksum of an epoch
// that of its key and the epoch.
//
// Expired tombstones come first in their bucket. Each commit removes some thousands of them, so the
// file has about as many tombstones as there were evictions in the time for which one is valid. A
// server that forgets a tombstone earlier, for lack of room in its memory, leaves it in the file
// until then. The file keeps its size, and bbolt uses the free pages again.
package boltstore
