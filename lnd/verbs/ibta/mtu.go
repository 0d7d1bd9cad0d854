package ibta

// MTU is the code of a path MTU: the largest payload of a packet.
type MTU uint8

// Codes of the path MTUs.
const (
	MTU256 MTU = iota + 1
	MTU512
	MTU1024
	MTU2048
	MTU4096
)

// IsValid reports whether m is one of the five codes.
func (m MTU) IsValid() bool { return m >= MTU256 && m <= MTU4096 }

// Bytes returns the payload in bytes, 0 for a code that is not valid.
func (m MTU) Bytes() int {
	if !m.IsValid() {
		return 0
	}
	return 128 << m
}

// MTUWithin returns the largest MTU of at most n bytes, 0 if none is.
func MTUWithin(n int) MTU {
	for m := MTU4096; m > 0; m-- {
		if m.Bytes() <= n {
			return m
		}
	}
	return 0
}

// PathMTU returns what RDMA-CM chooses over an interface with an MTU of n
// bytes: it leaves 96 for headers.
func PathMTU(n int) MTU { return MTUWithin(n - 96) }
