// Package nid holds the names of LNet: the NID of a network interface, the Net
// it belongs to, and the process id of an LNet user.
//
// All types are small comparable values in the manner of net/netip: == works,
// they serve as map keys, the zero value is invalid, methods never allocate
// except to build a string.
//
// # Wire forms
//
// A NID that has a 4-byte address travels as a nid4, a 64-bit integer whose
// byte order depends on the format that holds it:
//
//	bits    field
//	63..56  0
//	55..48  network type
//	47..32  network number
//	31..0   address; of IPv4 the first octet stands in bits 31..24
//
// Every NID can also travel in the extended form (struct lnet_nid), 20 bytes
// that are never swapped:
//
//	off  size  field
//	0    1     address bytes - 4: 0 for IPv4, 12 for IPv6
//	1    1     network type; 0xFF means ANY and the rest is ignored
//	2    2     network number, big-endian
//	4    16    address, big-endian; bytes beyond its length are zero
//
// # Text
//
// A NID is written address@network, as "10.0.0.1@tcp3", "2001:db8::1@tcp" or
// "31@gni". The package prints what LNet prints and accepts what LNet's
// libcfs_strnid accepts, with one exception: LNet takes network numbers above
// 65535 and spills them into the type, [Parse] refuses them. Names of types
// that current LNet has dropped are known too. Host names are not resolved.
//
// Every value has a text, and no two have the same: [Parse], [ParseNet] and [ParseProcessID]
// take back whatever String returns, so that what a peer puts into a message can be printed,
// sent as JSON and found again. NIDs of types without a name are printed as LNet prints them,
// "c0a80101@<17:0>"; this package also parses them, which LNet does not. If the length of an
// address is no multiple of four bytes, its length follows, which LNet leaves out:
// "1020304:5060700/7@<17:0>".
package nid
