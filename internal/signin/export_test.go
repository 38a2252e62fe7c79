package signin

// CookieHash is what is kept of a session's cookie.
func CookieHash(cookie string) string { return secretHash("cookie", cookie) }
