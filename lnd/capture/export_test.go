package capture

// BreakAssembler makes every call of the assembler panic.
func (d *Dissector) BreakAssembler() { d.assembler = nil }
