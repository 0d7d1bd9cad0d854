package nid

import "fmt"

// NetType is the kind of a network: the number of the network driver (LND)
// that serves it.
type NetType uint8

// The network types. The numbers are permanent; types without a driver in
// current LNet are still printed, parsed and routed.
const (
	Elan   NetType = 1  // the kernel's QSWLND
	TCP    NetType = 2  // the kernel's SOCKLND
	GM     NetType = 3  // the kernel's GMLND
	PTL    NetType = 4  // the kernel's PTLLND
	O2IB   NetType = 5  // the kernel's O2IBLND
	CIB    NetType = 6  // the kernel's CIBLND
	OpenIB NetType = 7  // the kernel's OPENIBLND
	IIB    NetType = 8  // the kernel's IIBLND
	Lo     NetType = 9  // the kernel's LOLND
	RA     NetType = 10 // the kernel's RALND
	VIB    NetType = 11 // the kernel's VIBLND
	MX     NetType = 12 // the kernel's MXLND
	GNI    NetType = 13 // the kernel's GNILND
	GIP    NetType = 14 // the kernel's GIPLND
	PTLF   NetType = 15 // the kernel's PTL4LND
	KFI    NetType = 16 // the kernel's KFILND
	Tofu   NetType = 17 // reserved; LNet has no text for it
	EFA    NetType = 18 // the kernel's EFALND
	BXI3   NetType = 19 // reserved for BXI3; LNet has no text for it
)

// anyType in a NID makes it the wildcard, whatever else it contains.
const anyType NetType = 0xFF

// addrText says how the addresses of a network type are written.
type addrText uint8

const (
	textNone   addrText = iota // the network type is unknown, so there is no text
	textIP                     // an IPv4 or IPv6 address: 10.0.0.1, 2001:db8::1
	textIPv4                   // an IPv4 address: 10.0.0.1
	textNumber                 // a decimal number: 31
	textHex                    // a hexadecimal number: 0x1f
	textLo                     // the address 0, without a network number
)

type typeText struct {
	name string
	addr addrText
}

// typeTexts has the text forms by NetType (libcfs_netstrfns).
var typeTexts = [...]typeText{
	Elan:   {"elan", textNumber},
	TCP:    {"tcp", textIP},
	GM:     {"gm", textHex},
	PTL:    {"ptl", textNumber},
	O2IB:   {"o2ib", textIPv4},
	CIB:    {"cib", textIPv4},
	OpenIB: {"openib", textIPv4},
	IIB:    {"iib", textIPv4},
	Lo:     {"lo", textLo},
	RA:     {"ra", textIPv4},
	VIB:    {"vib", textIPv4},
	MX:     {"mx", textIPv4},
	GNI:    {"gni", textNumber},
	GIP:    {"gip", textIPv4},
	PTLF:   {"ptlf", textNumber},
	KFI:    {"kfi", textNumber},
	EFA:    {"efa", textIPv4},
}

// prefixOrder is the order in which names are tried as prefix of a network's
// text. LNet takes the first that fits, so ptlf stands before ptl.
var prefixOrder = [...]NetType{
	Lo, TCP, O2IB, GNI, GIP, PTLF, KFI, EFA,
	CIB, OpenIB, IIB, VIB, RA, Elan, GM, PTL, MX,
}

func (t NetType) text() typeText {
	if int(t) < len(typeTexts) {
		return typeTexts[t]
	}
	return typeText{}
}

// IPv4Only reports whether the addresses of t's NIDs are IPv4 addresses and nothing else.
func (t NetType) IPv4Only() bool { return t.text().addr == textIPv4 }

// HasProcesses reports whether the drivers of t tell the processes at a NID apart. Those of
// RDMA do not: their connections belong to nodes, with LustrePID for every process.
func (t NetType) HasProcesses() bool { return t != O2IB }

// String returns the name as it stands in a NID, such as "tcp", or "?17?" if
// LNet has no name for t.
func (t NetType) String() string {
	if name := t.text().name; name != "" {
		return name
	}
	return fmt.Sprintf("?%d?", uint8(t))
}
