package ksock

import "hash/crc32"

// Checksum returns the checksum of a message: of its header with the checksum
// field taken as zero and of all bytes that follow it (LNet header, payload).
// It is CRC-32 with the reflected IEEE polynomial, initial value all ones and
// no final inversion (crc32_le(~0, ...) in Linux).
//
// Only v2 senders send one. A checksum field of 0 stands for "none", even if 0 is the checksum
// that this function returns.
func Checksum(h MsgHeader, parts ...[]byte) uint32 {
	sum := ChecksumHeader(h)
	for _, p := range parts {
		sum = UpdateChecksum(sum, p)
	}
	return sum
}

// InitialChecksum is the sum of no bytes, to be continued with UpdateChecksum.
const InitialChecksum uint32 = 1<<32 - 1

// ChecksumHeader returns the checksum of the header alone, to be continued
// with UpdateChecksum.
func ChecksumHeader(h MsgHeader) uint32 {
	h.Checksum = 0
	var buf [MsgHeaderSize]byte
	b, _ := h.AppendBinary(buf[:0]) // AppendBinary of this type never returns an error
	sum := InitialChecksum
	for _, c := range b { // a loop, because crc32.Update would move buf to the heap
		sum = crc32.IEEETable[byte(sum)^c] ^ sum>>8
	}
	return sum
}

// UpdateChecksum continues sum over the bytes of b.
func UpdateChecksum(sum uint32, b []byte) uint32 {
	return ^crc32.Update(^sum, crc32.IEEETable, b)
}
