package lnd

// Segment is one contiguous piece of payload memory (struct bio_vec,
// lnet_kiov_t). Memory descriptors are lists of segments.
type Segment = []byte

// Payload is a run of Length bytes that begins Offset bytes into a list of
// segments. The bytes belong to the memory descriptor; a Payload only names
// them.
type Payload struct {
	Segments []Segment // memory in which Offset and Length give the payload's place
	Offset   int       // bytes of Segments before the payload
	Length   int       // bytes of the payload
}

// Append appends the pieces of memory that p names to dst, in order and
// without empty ones, and returns the extended slice. It copies no payload.
func (p Payload) Append(dst []Segment) []Segment {
	skip, left := p.Offset, p.Length
	for _, s := range p.Segments {
		if left == 0 {
			break
		}
		if skip >= len(s) {
			skip -= len(s)
			continue
		}
		s = s[skip:]
		skip = 0
		s = s[:min(len(s), left)]
		left -= len(s)
		dst = append(dst, s)
	}
	return dst
}

// AppendTo appends a copy of p's bytes to dst and returns the extended slice.
func (p Payload) AppendTo(dst []byte) []byte {
	if end := p.Offset + p.Length; len(p.Segments) > 0 && end <= len(p.Segments[0]) {
		return append(dst, p.Segments[0][p.Offset:end]...)
	}
	var few [4]Segment
	for _, s := range p.Append(few[:0]) {
		dst = append(dst, s...)
	}
	return dst
}

// Tail returns the payload that is left after its first n bytes.
func (p Payload) Tail(n int) Payload {
	n = min(n, p.Length)
	p.Offset += n
	p.Length -= n
	return p
}

// CopyIn copies b to the start of p's memory and returns the bytes copied,
// at most p.Length.
func (p Payload) CopyIn(b []byte) int {
	done, skip := 0, p.Offset
	b = b[:min(len(b), p.Length)]
	for _, s := range p.Segments {
		if len(b) == 0 {
			break
		}
		if skip >= len(s) {
			skip -= len(s)
			continue
		}
		n := copy(s[skip:], b)
		skip = 0
		b = b[n:]
		done += n
	}
	return done
}

// Copy copies from src to dst, min(src.Length, dst.Length) bytes, and returns
// that number.
func Copy(dst, src Payload) int {
	done, skip := 0, src.Offset
	left := min(src.Length, dst.Length)
	for _, s := range src.Segments {
		if left == 0 {
			break
		}
		if skip >= len(s) {
			skip -= len(s)
			continue
		}
		s = s[skip:]
		skip = 0
		n := dst.CopyIn(s[:min(len(s), left)])
		if n == 0 {
			break // dst has fewer bytes than its Length says
		}
		dst = dst.Tail(n)
		done += n
		left -= n
	}
	return done
}
