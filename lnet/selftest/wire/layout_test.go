package wire_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// layouts are the tables of selftest §4: for each body the offsets and sizes of its fields, in
// the order of the message. A field of a nested struct has a path, such as Session.Stamp.
var layouts = []struct {
	body   wire.Body
	fields string
}{
	{&wire.MakeSession{}, "Session.Console 32 8, Session.Stamp 40 8, Force 48 4, Name 52 31"},
	{&wire.MakeSessionReply{}, "Session.Console 28 8, Session.Stamp 36 8, Timeout 44 4, Name 48 31"},
	{&wire.RemoveSession{}, "Session.Console 32 8, Session.Stamp 40 8"},
	{&wire.RemoveSessionReply{}, "Session.Console 28 8, Session.Stamp 36 8"},
	{&wire.Join{}, "Session.Console 32 8, Session.Stamp 40 8, Group 48 31"},
	{&wire.JoinReply{}, "Session.Console 28 8, Session.Stamp 36 8, Timeout 44 4, Name 48 31"},
	{&wire.Debug{}, "Session.Console 32 8, Session.Stamp 40 8, Flags 48 4"},
	{&wire.DebugReply{}, "Session.Console 28 8, Session.Stamp 36 8, Timeout 44 4, Batches 48 4, Name 52 31"},
	{&wire.Batch{}, "Session.Console 32 8, Session.Stamp 40 8, Batch 48 8, Op 56 4, Test 60 4, Argument 64 4"},
	{&wire.BatchReply{}, "Session.Console 28 8, Session.Stamp 36 8, Active 44 4, Time 48 4"},
	{&wire.Stat{}, "Session.Console 32 8, Session.Stamp 40 8, Kind 48 4"},
	{&wire.StatReply{}, "Session.Console 28 8, Session.Stamp 36 8, " +
		"Framework.Running 44 4, Framework.Batches 48 4, Framework.Zombies 52 4, Framework.BRWErrors 56 4, Framework.PingErrors 60 4, " +
		"RPC.Errors 64 4, RPC.Sent 68 4, RPC.Received 72 4, RPC.Dropped 76 4, RPC.Expired 80 4, RPC.BulkGet 84 8, RPC.BulkPut 92 8, " +
		"LNet.Messages 100 4, LNet.MostMessages 104 4, LNet.Errors 108 4, LNet.Sent 112 4, LNet.Received 116 4, LNet.Routed 120 4, LNet.Dropped 124 4, " +
		"LNet.SentBytes 128 8, LNet.ReceivedBytes 136 8, LNet.RoutedBytes 144 8, LNet.DroppedBytes 152 8"},
	{&wire.Test{Service: wire.BRWService}, "BulkID 32 8, Session.Console 40 8, Session.Stamp 48 8, Batch 56 8, Loop 68 4, Concurrency 72 4, " +
		"Client 76 1, StopOnError 77 1, Destinations 78 4, BRW.Op 82 2, BRW.Check 84 2, BRW.Length 86 4, BRW.Offset 90 4"},
	{&wire.Test{Service: wire.PingService}, "Ping.Size 82 4, Ping.Flags 86 4"},
	{&wire.Test{}, "Service 64 4"},
	{&wire.TestReply{}, "Session.Console 28 8, Session.Stamp 36 8"},
	{&wire.Ping{}, "Magic 32 4, Sequence 36 4, Seconds 40 8, Nanoseconds 48 8"},
	{&wire.PingReply{}, "Magic 28 4, Sequence 32 4"},
	{&wire.BRW{}, "BulkID 32 8, Op 40 4, Length 44 4, Check 48 4"},
	{&wire.BRWReply{}, ""},
}

// TestLayout: each field is where selftest §4 has it, in both byte orders, and the table layouts has
// every field.
func TestLayout(t *testing.T) {
	spec.Covers(t, "ST-1")
	tested := map[string]bool{}
	for _, l := range layouts {
		for field := range strings.SplitSeq(l.fields, ", ") {
			if field == "" {
				continue
			}
			name, off, size := "", 0, 0
			if _, err := fmt.Sscan(field, &name, &off, &size); err != nil {
				t.Fatal(field, err)
			}
			tested[l.body.Type().String()+name] = true
			for _, bigEndian := range []bool{false, true} {
				checkField(t, wire.Message{Header: wire.Header{Features: wire.BulkLength, BigEndian: bigEndian}, Body: l.body}, name, off, size)
			}
		}
	}
	tested[wire.TypeTest.String()+"BRW.Pages"] = true // another test, TestParametersByFeature, covers this field
	for _, l := range layouts {
		for _, path := range paths(reflect.TypeOf(l.body).Elem(), "") {
			if !tested[l.body.Type().String()+path] {
				t.Errorf("field %s of %v has no offset here", path, l.body.Type())
			}
		}
	}
}

// checkField checks that a change of a field changes only the size bytes at offset off, and that
// these are all 0xFF if all bits of the field can be set.
func checkField(t *testing.T, m wire.Message, name string, off, size int) {
	t.Helper()
	zero := encode(t, &m)
	changed := reflect.New(reflect.TypeOf(m.Body).Elem())
	changed.Elem().Set(reflect.ValueOf(m.Body).Elem())
	v := changed.Elem()
	for part := range strings.SplitSeq(name, ".") {
		v = v.FieldByName(part)
	}
	all := setAll(v)
	m.Body = changed.Interface().(wire.Body)
	full := encode(t, &m)
	for i := range full {
		inside := i >= off && i < off+size
		if !inside && full[i] != zero[i] || inside && all && full[i] != 0xFF {
			t.Errorf("%v, %s, at %d: %#x, before it %#x", m.Type, name, i, full[i], zero[i])
		}
	}
	back, err := wire.ParseMessage(full)
	if m.Type = m.Body.Type(); err != nil || !reflect.DeepEqual(back, m) && name != "Service" {
		t.Errorf("%v, %s: read as %+v, %v", m.Type, name, back.Body, err)
	}
	if slices.Equal(zero, full) {
		t.Errorf("%v, %s is not encoded", m.Type, name)
	}
}

// setAll sets all bits of a field, or reports that the field cannot have them all set.
func setAll(v reflect.Value) bool {
	switch {
	case v.Type() == reflect.TypeFor[nid.NID]():
		v.Set(reflect.ValueOf(nid.Any()))
	case v.Type() == reflect.TypeFor[wire.BRWOp]() || v.Type() == reflect.TypeFor[wire.Check]():
		v.SetUint(1<<16 - 1) // the largest with the feature BulkLength
		return false
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
		return false
	case v.Kind() == reflect.String:
		v.SetString(strings.Repeat("\xFF", wire.MaxName))
	case v.CanInt():
		v.SetInt(-1)
	default:
		v.SetUint(1<<v.Type().Bits() - 1)
	}
	return true
}

// paths returns the names of all fields of a struct; those of nested structs have a path.
func paths(s reflect.Type, prefix string) (list []string) {
	for i := range s.NumField() {
		f := s.Field(i)
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[nid.NID]() {
			list = append(list, paths(f.Type, prefix+f.Name+".")...)
		} else {
			list = append(list, prefix+f.Name)
		}
	}
	return list
}

func encode(t testing.TB, m *wire.Message) []byte {
	t.Helper()
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
