package fault

import (
	"math/bits"

	"ulnet/lnd/link"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Counts are the effects of a rule, in messages. Each rule that is tried on a message and
// matches it counts the match; the one rule that determined an effect counts the effect.
type Counts struct {
	Matched    uint64 `json:"matched"`    // messages that match the rule
	Lost       uint64 `json:"lost"`       // messages lost by "loss"
	Delayed    uint64 `json:"delayed"`    // messages delayed by "latency"
	Duplicated uint64 `json:"duplicated"` // messages sent twice by "duplicate"
	Reordered  uint64 `json:"reordered"`  // messages held back by "reorder"
	Cut        uint64 `json:"cut"`        // messages stopped by "cut"
}

// judge decides what happens to a message. The parameter to is the NID that receives it, or no
// NID if that is a group. The caller holds mu.
func (p *Plan) judge(h *wire.Header, to nid.NID) link.Outcome {
	if to.IsValid() && p.partition.separates(h.SrcNID, to) {
		p.cut++
		return link.Outcome{Lost: true}
	}
	var q link.Quality
	var by authors
	for _, r := range p.rules {
		if !r.rule.matches(h, to) {
			continue
		}
		r.counts.Matched++
		if r.rule.Cut {
			r.counts.Cut++
			return link.Outcome{Lost: true}
		}
		q = r.rule.Change.Apply(q)
		by.note(r)
	}
	f := q.Draw(p.random)
	by.count(&q, &f)
	return f
}

// authors has, for each bit of a [link.Field], the last rule that set the field for a message.
type authors [8]*activeRule

func (a *authors) note(r *activeRule) {
	for i := range a {
		if r.rule.Change.Fields>>i&1 != 0 {
			a[i] = r
		}
	}
}

func (a *authors) of(f link.Field) *Counts { return &a[bits.TrailingZeros8(uint8(f))].counts }

func (a *authors) count(q *link.Quality, f *link.Outcome) {
	if f.Lost {
		a.of(link.FieldLoss).Lost++
		return
	}
	if q.Latency != (link.Dist{}) && f.Delays[0] > 0 {
		a.of(link.FieldLatency).Delayed++
	}
	if f.Copies > 1 {
		a.of(link.FieldDuplicate).Duplicated++
	}
	if f.Held {
		a.of(link.FieldReorder).Reordered++
	}
}
