package capture

// BreakAssembler makes the assembler panic at each segment.
func (d *Dissector) BreakAssembler() { d.arrived = nil }
