package main

import (
	"bytes"
	"encoding/binary"
)

// Every byte of a message is a function of a key and of the byte's position, so that the
// receiver can check it. Each PUT has a key, and so does the memory that each worker offers for
// GETs.

// putKey returns the key for the content of a PUT.
func putKey(id opID, size int) uint64 { return mix(id.bits()) + uint64(size) }

// sourceKey returns the key for the memory that a worker offers. It is the same in all
// incarnations of the worker.
func sourceKey(worker uint8) uint64 { return mix(^uint64(worker)) }

// mix is the finalizer of splitmix64: a bijection in which each bit of the result depends on
// each bit of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// word returns the content of the 8 bytes that begin at 8*i.
func word(key, i uint64) uint64 { return mix(key + i*0x9E3779B97F4A7C15) }

// fill fills b with the content that begins at byte at.
func fill(b []byte, key, at uint64) {
	for len(b) > 0 {
		w, skip := word(key, at/8), at%8
		n := min(8-skip, uint64(len(b)))
		if n == 8 {
			binary.LittleEndian.PutUint64(b, w)
		} else {
			w >>= 8 * skip
			for i := range n {
				b[i] = byte(w >> (8 * i))
			}
		}
		b, at = b[n:], at+n
	}
}

// mismatch compares b with the content that begins at byte at. It returns the index
// of the first byte that differs, or -1.
func mismatch(b []byte, key, at uint64) int {
	var want [4096]byte
	for done := 0; done < len(b); done += len(want) {
		n := min(len(want), len(b)-done)
		fill(want[:n], key, at+uint64(done))
		if bytes.Equal(want[:n], b[done:done+n]) {
			continue
		}
		for i := range n {
			if want[i] != b[done+i] {
				return done + i
			}
		}
	}
	return -1
}
