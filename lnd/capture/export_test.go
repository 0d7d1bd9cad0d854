package capture

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
