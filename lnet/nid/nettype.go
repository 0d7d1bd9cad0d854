package nid

import "fmt"

// NetType is the kind of a network: the number of the network driver (LND)
// that serves it.
type NetType uint8

// The network types. The numbers are permanent; types without a driver in
// current LNet are still printed, parsed and routed.
const (
	Elan   NetType = 1  // QSWLND
	TCP    NetType = 2  // SOCKLND
	GM     NetType = 3  // GMLND
	PTL    NetType = 4  // PTLLND
	O2IB   NetType = 5  // O2IBLND
	CIB    NetType = 6  // CIBLND
	OpenIB NetType = 7  // OPENIBLND
	IIB    NetType = 8  // IIBLND
	Lo     NetType = 9  // LOLND
	RA     NetType = 10 // RALND
	VIB    NetType = 11 // VIBLND
	MX     NetType = 12 // MXLND
	GNI    NetType = 13 // GNILND
	GIP    NetType = 14 // GIPLND
	PTLF   NetType = 15 // PTL4LND
	KFI    NetType = 16 // KFILND
	Tofu   NetType = 17 // reserved; LNet has no text for it
	EFA    NetType = 18 // EFALND
	BXI3   NetType = 19 // reserved; LNet has no text for it
)

// anyType in a NID makes it the wildcard, whatever else it contains.
const anyType NetType = 0xFF

// addrText says how the addresses of a network type are written.
type addrText uint8

const (
	textNone   addrText = iota // type unknown: no text form
	textIP                     // 10.0.0.1, 2001:db8::1
	textIPv4                   // 10.0.0.1
	textNumber                 // 31
	textHex                    // 0x1f
	textLo                     // 0, and no network number
)

type typeText struct {
	name string
	addr addrText
}

// typeTexts is indexed by NetType (libcfs_netstrfns).
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
