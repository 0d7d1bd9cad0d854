package nid

import (
	"strconv"
	"strings"
)

// The numeric text is that of NIDs and networks that LNet has no name for. For example,
// "c0a80101@<17:0>" is a NID of type 17: the words of its address in hex, joined by colons,
// then "@" and "<type:number>". If an address of 5 bytes or more is no multiple of four bytes
// long, its length follows, which LNet leaves out: "1020304:5060700/7@<17:0>".

// appendNumericNet appends a numeric network, such as "<17:0>".
func appendNumericNet(b []byte, n Net) []byte {
	b = append(b, '<')
	b = strconv.AppendUint(b, uint64(n.Type()), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, uint64(n.Num()), 10)
	return append(b, '>')
}

// parseNumericNet parses what follows the '<' of a numeric network.
func parseNumericNet(s string) (Net, error) {
	s, closed := strings.CutSuffix(s, ">")
	typ, num, found := strings.Cut(s, ":")
	t, err := strconv.ParseUint(typ, 10, 8)
	if !closed || !found || err != nil || strings.Trim(num, "0123456789") != "" {
		return Net{}, errNet
	}
	n, err := strconv.ParseUint(num, 10, 16)
	if err != nil {
		return Net{}, errNetNumber
	}
	return MakeNet(NetType(t), uint16(n)), nil
}

// appendWords appends the address as hexadecimal words.
func (n NID) appendWords(b []byte) []byte {
	for i := range words(n.AddrLen()) {
		if i > 0 {
			b = append(b, ':')
		}
		b = strconv.AppendUint(b, uint64(n.addr[i]), 16)
	}
	if n.AddrLen()%4 != 0 {
		b = strconv.AppendInt(append(b, '/'), int64(n.AddrLen()), 10)
	}
	return b
}

// words returns how many 32-bit words an address of addrLen bytes takes.
func words(addrLen int) int { return (addrLen + 3) / 4 }

// parseWords parses the address of a numeric NID in network net.
func parseWords(net Net, s string) (NID, error) {
	s, lenText, hasLen := strings.Cut(s, "/")
	list := strings.Split(s, ":")
	n := NID{head: net.value}
	if len(list) > len(n.addr) {
		return NID{}, errAddress
	}
	for i, word := range list {
		v, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return NID{}, errAddress
		}
		n.addr[i] = uint32(v)
	}
	addrLen := 4 * len(list)
	if hasLen {
		v, err := strconv.ParseUint(lenText, 10, 8)
		if err != nil || v < 4 || words(int(v)) != len(list) {
			return NID{}, errAddress
		}
		addrLen = int(v)
	}
	n.head |= uint32(addrLen-4) << 24
	cleared := n
	if cleared.clearFrom(addrLen); cleared != n {
		return NID{}, errAddress // more bytes than the length that the text states
	}
	if net.IsAny() {
		return Any(), nil
	}
	return n, nil
}
