package capture

import (
	"sync"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/reassembly"
)

// Bounds of an assembler, local policy. A page has 1900 bytes.
const (
	maxPagesPerFlow = 4096
	maxPages        = 16384
)

// assemblers has the assemblers that no Dissector uses at present. Each allocates 3 MB of pages when
// it is made, which takes longer than the parsing of a small capture.
var assemblers = sync.Pool{New: func() any {
	a := reassembly.NewAssembler(reassembly.NewStreamPool(streams{}))
	a.MaxBufferedPagesPerConnection = maxPagesPerFlow
	a.MaxBufferedPagesTotal = maxPages
	return a
}}

// release puts the assembler back into the pool. One that panicked may still have state of
// connections, so it is not used again.
func (d *Dissector) release() {
	if d.counts.Broken == 0 {
		assemblers.Put(d.assembler)
	}
	d.assembler = nil
}

// streams gives the assembler the flow of a packet (reassembly.StreamFactory).
type streams struct{}

// New returns the flow of the packet.
func (streams) New(_, _ gopacket.Flow, _ *layers.TCP, ac reassembly.AssemblerContext) reassembly.Stream {
	return ac.(*assembly).flow
}

// assembly is a packet on its way through the assembler.
type assembly struct{ flow *flow }

// GetCaptureInfo returns the time at which the packet was captured.
func (a *assembly) GetCaptureInfo() gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: a.flow.d.at.Time}
}

// guard runs call, which uses the assembler. It recovers from panics of the assembler, which
// panics on some overlapping segments around sequence number 0, but not from panics of the
// decoder or of the caller's emit inside the assembler.
func (d *Dissector) guard(f *flow, call func()) {
	defer func() {
		why := recover()
		if why == nil {
			return
		}
		if d.decoding {
			panic(why)
		}
		d.counts.Broken++
		if f != nil {
			f.broken = true
		}
	}()
	call()
}
