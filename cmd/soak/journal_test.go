package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJournal(t *testing.T) {
	want := []record{
		{Kind: started, Op: opGet, Target: 3, ID: opID{1, 2, 3}, Size: 1 << 20},
		{Kind: arrived, Target: 255, Errno: syscall.ETIMEDOUT, ID: opID{255, 65535, 1<<32 - 1}},
	}
	var b bytes.Buffer
	j := &journal{out: &b}
	begin := time.Now().UnixMicro()
	for _, r := range want {
		j.add(r)
	}
	end := time.Now().UnixMicro()
	if b.Len() != len(want)*recordSize {
		t.Fatalf("%d records take %d bytes", len(want), b.Len())
	}
	for name, in := range map[string]io.Reader{
		"at once": bytes.NewReader(b.Bytes()), "byte by byte": iotest.OneByteReader(bytes.NewReader(b.Bytes())),
	} {
		var got []record
		if err := readJournal(in, func(r []record) { got = append(got, r...) }); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want EOF", name, err)
		}
		for i := range got {
			if at := got[i].At; at < begin || at > end {
				t.Errorf("%s: record %d is of %d, not from %d to %d", name, i, at, begin, end)
			}
			got[i].At = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	err := readJournal(bytes.NewReader(b.Bytes()[:recordSize+1]), func([]record) {})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a record: got %v, want ErrUnexpectedEOF", err)
	}
}

func TestErrnoOf(t *testing.T) {
	for err, want := range map[error]syscall.Errno{
		nil: 0, fmt.Errorf("dial: %w", syscall.EHOSTUNREACH): syscall.EHOSTUNREACH, io.EOF: syscall.EIO,
	} {
		if got := errnoOf(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}
