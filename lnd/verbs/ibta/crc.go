package ibta

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// The arithmetic of CRC-32 as Ethernet has it (reflected polynomial). A state is the CRC
// before its final inversion. States are polynomials over GF(2) modulo that of the CRC, with
// the coefficient of x^0 in the highest bit, and a zero byte multiplies them by x^8. So the
// contributions of several bytes can be computed separately and added (exclusive or).

// shifted[n][b] is the state after byte b and n zero bytes, from state 0. NewPath fills it: most
// programs that have this package calculate no checksum.
var shifted [48][256]uint32

var fillShifted = sync.OnceFunc(func() {
	for b := range 256 {
		s := crc32.IEEETable[b]
		for n := range shifted {
			shifted[n][b] = s
			s = zeroByte(s)
		}
	}
})

// zeroByte returns the state after s and a zero byte.
func zeroByte(s uint32) uint32 { return crc32.IEEETable[byte(s)] ^ s>>8 }

// addState returns the state after s and n zero bytes, 4 ≤ n ≤ 48.
func addState(s uint32, n int) uint32 {
	return shifted[n-1][byte(s)] ^ shifted[n-2][byte(s>>8)] ^ shifted[n-3][byte(s>>16)] ^ shifted[n-4][byte(s>>24)]
}

// add16 returns the contribution of the 16-bit number v when n bytes follow.
func add16(v uint16, n int) uint32 { return shifted[n+1][byte(v>>8)] ^ shifted[n][byte(v)] }

// update continues s over b, byte by byte, for a few bytes: crc32.Update would move them to
// the heap.
func update(s uint32, b []byte) uint32 {
	for _, c := range b {
		s = crc32.IEEETable[byte(s)^c] ^ s>>8
	}
	return s
}

// addBTH continues s over the twelve bytes of a BTH. Byte 4, which routers may change, counts as
// 0xFF.
func addBTH(s uint32, b []byte) uint32 {
	b = b[:BTHSize:BTHSize]
	first := s ^ binary.LittleEndian.Uint32(b)
	return addState(first, BTHSize) ^
		shifted[7][0xFF] ^ shifted[6][b[5]] ^ shifted[5][b[6]] ^ shifted[4][b[7]] ^
		shifted[3][b[8]] ^ shifted[2][b[9]] ^ shifted[1][b[10]] ^ shifted[0][b[11]]
}

// updateLong adds b to the checksum s, by instructions of the processor.
func updateLong(s uint32, b []byte) uint32 { return ^crc32.Update(^s, crc32.IEEETable, b) }

// producer inverts the table: for the highest byte of an entry it has the index of that
// entry.
var producer = func() (t [256]byte) {
	for b, s := range crc32.IEEETable {
		t[s>>24] = byte(b)
	}
	return t
}()

// maxUnshift is the largest number of bytes that may follow the identification field of the IP
// header in a packet: headers and payload.
const maxUnshift = 4096 + 128

// inverses[n] is x^(-8n). They take some 16 KiB, made when first needed.
var inverses = sync.OnceValue(func() []uint32 {
	list := make([]uint32, maxUnshift+1)
	list[0] = 1 << 31
	for n := range maxUnshift {
		b := producer[list[n]>>24]
		list[n+1] = (list[n]^crc32.IEEETable[b])<<8 | uint32(b)
	}
	return list
})

// multiply returns the product of two states, four bits of a at a time.
func multiply(a, b uint32) uint32 {
	var m [16]uint32 // multiples of b; the highest bit of an index is x^0
	m[8] = b
	m[4] = timesX(b)
	m[2] = timesX(m[4])
	m[1] = timesX(m[2])
	m[3], m[5], m[6], m[9], m[10], m[12] = m[2]^m[1], m[4]^m[1], m[4]^m[2], b^m[1], b^m[2], b^m[4]
	m[7], m[11], m[13], m[14] = m[6]^m[1], m[10]^m[1], m[12]^m[1], m[12]^m[2]
	m[15] = m[14] ^ m[1]
	p := m[a&15]
	for range 7 {
		a >>= 4
		p = p>>4 ^ timesX4[p&15] ^ m[a&15]
	}
	return p
}

// timesX returns the state after s and a zero bit.
func timesX(s uint32) uint32 { return s>>1 ^ crc32.IEEE&-(s&1) }

// timesX4 has the effect of four zero bits on the lowest four bits of a state.
var timesX4 = func() (t [16]uint32) {
	for v := range t {
		s := uint32(v)
		for range 4 {
			s = timesX(s)
		}
		t[v] = s
	}
	return t
}()
