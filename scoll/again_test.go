package scoll

import "testing"

// TestRunOnceInThree: SC-43, SC-A20: a member that ran the first attempt of a
// broadcast to the live members and gets no bulk data for the second does not
// run the third.
func TestRunOnceInThree(t *testing.T) {
	h := newHarness(t, 8, 7, nil) // a leaf
	attempt := func(sequence uint64) {
		t.Helper()
		h.admitted(func(r *RequestHeader) {
			r.Sequence, r.Bulk = sequence, RMA{Bits: 99, Length: 100}
			r.Flags, r.Live = r.Flags|FlagSubset, h.members.Digest()
		})
		h.want("pre")
		if again := h.find(CallPreRequest).Again; again != (sequence > 1) {
			t.Errorf("attempt %d: again is %v", sequence, again)
		}
		h.step(Input{Kind: InPreRequest})
		h.want("fetch")
	}
	attempt(1)
	h.step(Input{Kind: InFetched})
	h.want("incoming post")
	h.step(Input{Kind: InIncoming})
	h.step(Input{Kind: InPostReply})
	h.leave()
	attempt(2)
	h.step(Input{Kind: InFetched, Status: EIO})
	h.want("refuse incoming:failed") // which runs nothing
	h.step(Input{Kind: InIncoming})
	h.want("post")
	h.step(Input{Kind: InPostReply})
	h.want("out")
	h.step(Input{Kind: InReplyOut})
	h.want("free")
	attempt(3)
	h.step(Input{Kind: InFetched})
	h.want("post")
}
