package keyring

// Clone returns a ring with the same keys, for a test in which each goroutine has its own ring.
func (r *Ring) Clone() *Ring {
	if r == nil {
		return nil
	}
	return r.clone()
}

// AppendCode appends to b the code of a message in parts, made with the first key.
func (r *Ring) AppendCode(b []byte, to Binding, parts ...[]byte) []byte {
	return append(b, r.code(0, to, parts...)...)
}

// VerifyCode reports whether code is the authentication code of the message that consists of parts.
func (r *Ring) VerifyCode(code []byte, to Binding, parts ...[]byte) bool {
	return r.verifies(code, to, parts...) >= 0
}
