package engine

import (
	"encoding/binary"
	"math/bits"

	"ulnet/gossip/wire"
)

// Ages are bytes. A known age saturates at oldest. The age unheard means that no message has
// had an age of the participant yet.
const (
	oldest  = wire.Oldest
	unheard = wire.Unheard
)

// The functions below work on eight ages at a time, one in each byte of a word. These bytes are
// called lanes.
const (
	lanes = 8
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notBelow returns a word with the high bit set in each lane where a >= b.
func notBelow(a, b uint64) uint64 {
	low := ((a | highs) - (b &^ highs)) & highs // per lane: compares the lower seven bits
	return (a&^b | ^(a^b)&low) & highs
}

// spread turns the high bits of lanes into lanes of all ones.
func spread(h uint64) uint64 { return h >> 7 * 0xFF }

// older adds a cycle to the age in each lane, except to the ages oldest and unheard, whose upper seven bits are
// all set.
func older(x uint64) uint64 {
	clear := ^x & (oldest * ones)
	return x + ((clear&^highs+^uint64(highs)|clear)&highs)>>7
}

// youngest returns, lane by lane, the smaller of a and of b with a cycle added.
func youngest(a, b uint64) uint64 {
	differ := a ^ b
	low := (b | highs) - a&^highs           // per lane: compares the lower seven bits
	take := ^(low ^ differ&(low^b)) & highs // per lane: a > b
	old := (b&^highs + 2*ones) & b          // lanes where b is oldest, to which no cycle is added, or unheard, which is never taken
	return (a ^ differ&spread(take)) + take&^old>>7
}

// youngestLow returns the same as youngest, in fewer instructions. The high bits of all lanes must be 0.
func youngestLow(a, b uint64) uint64 {
	b += ones
	take := ((a | highs) - b) & highs // per lane: a >= b
	return a ^ (a^b)&(take-take>>7)
}

// gather packs the high bits of lanes into a byte, lane 0 lowest.
func gather(h uint64) byte { return byte(h >> 7 * 0x0102040810204080 >> 56) }

func word(b []byte) uint64       { return binary.LittleEndian.Uint64(b) }
func setWord(b []byte, w uint64) { binary.LittleEndian.PutUint64(b, w) }

// ageVector has an age for each participant, in cycles. The slice bytes is padded to a multiple of
// eight bytes; each byte of the padding has the value unheard.
type ageVector struct {
	bytes []byte // one byte for each entry, padded to whole words
	n     int
}

// newAgeVector returns n entries that are unheard.
func newAgeVector(n int) ageVector {
	v := ageVector{make([]byte, (n+lanes-1)/lanes*lanes), n}
	v.forget()
	return v
}

// Bytes returns the entries, in the vector's own memory.
func (v ageVector) Bytes() []byte { return v.bytes[:v.n] }

// forget makes every entry unheard.
func (v ageVector) forget() {
	for i := range v.bytes {
		v.bytes[i] = unheard
	}
}

// age adds a cycle to each age (GO-18).
func (v ageVector) age() {
	for b := v.bytes; len(b) >= lanes; b = b[lanes:] {
		setWord(b, older(word(b)))
	}
}

// ageBy adds several cycles at once.
func (v ageVector) ageBy(cycles uint64) {
	if cycles <= 4 {
		for range cycles {
			v.age()
		}
		return
	}
	for i, a := range v.bytes {
		if a < oldest {
			v.bytes[i] = byte(min(uint64(a)+cycles, oldest))
		}
	}
}

// merge replaces each age by the age in remote plus one cycle, the time that the message was on its way, if that
// is lower (rule 2). Both vectors have the same length.
func (v ageVector) merge(remote []byte) {
	const step = 4 * lanes // entries per round, so that the processor has independent work
	local, i := v.bytes[:len(remote)], 0
	for ; i+step <= len(remote); i += step {
		l, r := (*[step]byte)(local[i:]), (*[step]byte)(remote[i:])
		a, b, c, d := word(l[:]), word(l[lanes:]), word(l[2*lanes:]), word(l[3*lanes:])
		e, f, g, h := word(r[:]), word(r[lanes:]), word(r[2*lanes:]), word(r[3*lanes:])
		if (a|b|c|d|e|f|g|h)&highs == 0 { // no participant is long dead or unheard of: the usual case
			a, b, c, d = youngestLow(a, e), youngestLow(b, f), youngestLow(c, g), youngestLow(d, h)
		} else {
			a, b, c, d = youngest(a, e), youngest(b, f), youngest(c, g), youngest(d, h)
		}
		setWord(l[:], a)
		setWord(l[lanes:], b)
		setWord(l[2*lanes:], c)
		setWord(l[3*lanes:], d)
	}
	for ; i < len(remote); i++ {
		local[i] = min(local[i], olderByte(remote[i]))
	}
}

// mergeOne is merge for one entry.
func (v ageVector) mergeOne(i int, remote byte) { v.bytes[i] = min(v.bytes[i], olderByte(remote)) }

func olderByte(a byte) byte {
	if a < oldest {
		return a + 1
	}
	return a
}

// alive finds the entries that are alive: it sets their bits in the bitmap set, and returns their
// number. The parameter was is a bitmap of the entries that were alive before. One of these is alive
// if its age is at most limit, any other entry if its age is at most again. Both limits are below
// oldest, so an unheard entry is not alive.
func (v ageVector) alive(limit, again byte, was, set []byte) int {
	count := 0
	l, a := uint64(limit)*ones, uint64(again)*ones
	for i := range set {
		w := word(v.bytes[i*lanes:])
		b := gather(notBelow(l, w))
		if b&^was[i] != 0 {
			b &= was[i] | gather(notBelow(a, w))
		}
		set[i] = b
		count += bits.OnesCount8(b)
	}
	return count
}

// fresher calls f for each entry whose age is lower than that in the peer's ages by at least gap,
// which is 1 or more.
func (v ageVector) fresher(peer []byte, gap int, f func(i int, age byte)) {
	i := 0
	for ; i+lanes <= len(peer); i += lanes {
		theirs, ours := word(peer[i:]), word(v.bytes[i:])
		m := spread(notBelow(theirs, ours)) // lanes with theirs >= ours: subtracting in any other lane would borrow from the next one
		for h := notBelow(theirs&m-ours&m, uint64(gap)*ones); h != 0; h &= h - 1 {
			k := i + bits.TrailingZeros64(h)/lanes
			f(k, v.bytes[k])
		}
	}
	for ; i < len(peer); i++ {
		if int(peer[i])-int(v.bytes[i]) >= gap {
			f(i, v.bytes[i])
		}
	}
}

// notAbove counts the entries whose age is at most limit. The limit is below oldest.
func (v ageVector) notAbove(limit byte) (count int) {
	l := uint64(limit) * ones
	for b := v.bytes; len(b) >= lanes; b = b[lanes:] {
		count += bits.OnesCount64(notBelow(l, word(b)))
	}
	return count
}

// find returns the index of the k-th (from 0) of the entries whose age is at most limit, or -1.
func (v ageVector) find(limit byte, k int) int {
	l := uint64(limit) * ones
	for i := 0; i < len(v.bytes); i += lanes {
		h := notBelow(l, word(v.bytes[i:]))
		if c := bits.OnesCount64(h); k >= c {
			k -= c
			continue
		}
		for ; k > 0; k-- {
			h &= h - 1
		}
		return i + bits.TrailingZeros64(h)/lanes
	}
	return -1
}
