package sim

import (
	"math/bits"
	"time"
)

// digest is a digest of the inputs and outputs of programs, in order. It includes no
// state of the network, so that a replay of the steps alone gives the same digest.
type digest uint64

// mix adds three numbers to the digest.
func (d *digest) mix(a, b, c uint64) {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9
	hi, lo := bits.Mul64(uint64(*d)^a^k0, b^k1)
	*d = digest(bits.RotateLeft64(uint64(*d), 23) + (hi ^ lo) + c*k1)
}

func (d *digest) text(s string) {
	for len(s) > 0 {
		var w uint64
		k := min(len(s), 8)
		for _, c := range []byte(s[:k]) {
			w = w<<8 | uint64(c)
		}
		d.mix(w, uint64(k), 1)
		s = s[k:]
	}
}

// boot adds the beginning of an incarnation to the digest.
func (d *digest) boot(l Incarnation) { d.mix(l.Seed, uint64(l.Node), l.Number) }

// digestStep adds a step to the digest. hash may be nil.
func digestStep[M any](d *digest, id NodeID, now, wake time.Duration, in *Input[M], out *Output[M], hash func(*M) uint64) {
	d.mix(uint64(now), uint64(id)<<8|uint64(in.Kind), uint64(wake))
	if in.Kind > Start {
		d.mix(uint64(in.From), uint64(len(in.Text)), 2)
		d.text(in.Text)
	}
	if hash != nil && (in.Kind == Message || in.Kind == Refused) {
		d.mix(hash(&in.Msg), 0, 3)
	}
	for i := range out.Sends {
		s := &out.Sends[i]
		var content uint64
		if hash != nil {
			content = hash(&s.Msg)
		}
		d.mix(uint64(s.To), uint64(s.Size)<<1|bit(s.Priority)|bit(s.Copy)<<63, content)
	}
	if len(out.Watch)+len(out.Ignore)+len(out.Events) > 0 {
		digestRest(d, out)
	}
}

func digestRest[M any](d *digest, out *Output[M]) {
	for _, id := range out.Watch {
		d.mix(uint64(id), 4, 0)
	}
	for _, id := range out.Ignore {
		d.mix(uint64(id), 5, 0)
	}
	for _, ev := range out.Events {
		d.mix(uint64(ev.Subject), uint64(ev.Kind)<<32|uint64(len(ev.Text)), ev.Value)
		d.text(ev.Text)
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
