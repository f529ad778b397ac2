package wire

// Split returns the frames of a line as a connection reads them: one object, an array of
// them as one, or several objects that all say that they are JSON-RPC. It returns nothing
// for a line that is no frame. They are parts of line.
func Split(line []byte) (frames [][]byte) {
	text := trimLead(line)
	if len(text) == 0 || !mayBeFrame(text) {
		return nil
	}
	for rest := text; len(rest) > 0; {
		s := NewScan(rest)
		if !mayBeFrame(rest) || !s.pass() {
			return nil
		}
		frames = append(frames, rest[:s.pos])
		rest = trimLead(s.Rest())
	}
	if len(frames) > 1 && !areFrames(text) {
		return nil
	}
	return frames
}

// MayBeFrame reports whether a line that begins with start, which need not be all of it,
// may be a frame, or several.
func MayBeFrame(start []byte) bool { return mayBeFrame(start) }
