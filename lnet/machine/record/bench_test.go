package record_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

const benchMachines = 1000

// run steps many machines on small inputs, as a simulation does.
func run(m []machine.Machine[input, output], steps int) {
	var out output
	in := make(input, 24)
	for n := range steps {
		out.Reset()
		in[0] = byte(n)
		m[n*7%len(m)].Step(time.Duration(n)*time.Microsecond, in, &out)
	}
}

func BenchmarkPlain(b *testing.B) {
	m := make([]machine.Machine[input, output], benchMachines)
	for i := range m {
		m[i] = &relay{salt: salt}
	}
	b.ReportAllocs()
	for b.Loop() {
		run(m, 1000)
	}
}

func recordBench(w io.Writer, mode record.Mode, steps int) {
	rec := record.New(w, codec{}, mode, []byte{salt})
	m := make([]machine.Machine[input, output], benchMachines)
	for i := range m {
		m[i] = rec.Boot(uint64(i), 0, nil, &relay{salt: salt})
	}
	run(m, steps)
	_, _ = rec.Close()
}

func BenchmarkRecord(b *testing.B) {
	for name, mode := range modes {
		b.Run(name, func(b *testing.B) {
			rec := record.New(io.Discard, codec{}, mode, []byte{salt})
			m := make([]machine.Machine[input, output], benchMachines)
			for i := range m {
				m[i] = rec.Boot(uint64(i), 0, nil, &relay{salt: salt})
			}
			b.ReportAllocs()
			for b.Loop() {
				run(m, 1000)
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	for name, mode := range modes {
		b.Run(name, func(b *testing.B) {
			var file bytes.Buffer
			recordBench(&file, mode, 100_000)
			for b.Loop() {
				if _, err := replay(file.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/1000steps")
		})
	}
}
