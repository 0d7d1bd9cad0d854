package capture

// MaxWaitingPerSide bounds the pages of one side that wait for earlier bytes.
const MaxWaitingPerSide = maxWaitingPerSide

// BreakAssembler makes the assembler panic at each segment.
func (d *Dissector) BreakAssembler() { d.arrived = nil }

// Waiting returns how many segments wait for earlier bytes, for how many pages they count, and the
// bytes of memory that they take.
func (d *Dissector) Waiting() (segments, pages, size int) {
	for _, f := range d.flows {
		for side := range f.streams {
			segments += len(f.streams[side].queue)
			for _, w := range f.streams[side].queue {
				size += cap(w.b)
			}
		}
	}
	return segments, d.assembler.waiting, size
}

// WaitsInOrder reports whether the segments that wait are in their order and without overlaps, behind
// a gap.
func (d *Dissector) WaitsInOrder() bool {
	for _, f := range d.flows {
		for side := range f.streams {
			at := f.streams[side].next + 1
			for _, w := range f.streams[side].queue {
				if int32(w.seq-at) < 0 || int32(w.after()-f.streams[side].next) < 0 {
					return false
				}
				at = w.after()
			}
		}
	}
	return true
}

// MaxWaiting bounds the pages of all flows that wait for earlier bytes, and those of all packets of RoCE.
const MaxWaiting = maxWaiting

// RoCEWaiting returns how many packets of RoCE wait for earlier ones, for how many pages they count, and
// the bytes of memory that their payloads take.
func (d *Dissector) RoCEWaiting() (packets, pages, size int) {
	for e := d.roce.conns.Front(); e != nil; e = e.Next() {
		for _, fl := range e.Value.(*roceConn).flows {
			packets += len(fl.ahead)
			for _, f := range fl.ahead {
				size += cap(f.Payload)
			}
		}
	}
	return packets, d.roce.waiting, size
}

// MaxFragments bounds the fragments of all transfers of RoCE that are unfinished.
const MaxFragments = maxFragments

// RoCEMoving returns the number of unfinished transfers, of their fragments, and what the dissector counts for both.
func (d *Dissector) RoCEMoving() (transfers, fragments, counted int) {
	for e := d.roce.conns.Front(); e != nil; e = e.Next() {
		for _, t := range e.Value.(*roceConn).moving {
			transfers, fragments = transfers+1, fragments+len(t.frags)
		}
	}
	return transfers, fragments, d.roce.frags
}

// SinceFlush returns the number of packets since the dissector has last looked at all open connections.
func (d *Dissector) SinceFlush() int { return d.packets }
