package policy

import "testing"

func TestPlacesOfSecrets(t *testing.T) {
	t.Parallel()
	checkLines(t, engine(t), lines("R3 reads-secret", "cat /etc/kubernetes/admin.conf", "cat /etc/kubernetes/pki/ca.crt", "cat /etc/wireguard/wg0.conf", "cat /etc/mysql/debian.cnf", "cat /etc/ssh/ssh_host_ed25519_key", "cat /etc/rancher/k3s/k3s.yaml",
		"cat /etc/NetworkManager/system-connections/home.nmconnection", "cat /etc/ppp/chap-secrets", "cat /etc/ipsec.secrets", "cat /etc/postfix/sasl_passwd", "cat /var/lib/kubelet/config.yaml", "cat /var/backups/x", "head /etc/openvpn/client.conf", "cat /ETC/Wireguard/wg0.conf"))
	checkLines(t, engine(t), lines("R3", "cat /etc/wireg*/wg0.conf", "cat /etc/kubernetes/*", "cat /etc/kube*/admin.conf"))
	checkLines(t, engine(t), lines("R0", "cat /etc/hosts", "cat /etc/os-release", "cat /etc/ssh/ssh_host_rsa_key.pub", "cat /etc/nginx/nginx.conf", "cat kubernetes/deploy.yaml", "ls /etc/kubernetes"))
	checkTools(t, engine(t), []toolRow{{"read", `{"path":"/etc/kubernetes/admin.conf"}`, "R3 reads-secret"}, {"read", `{"path":"/etc/wireguard/wg0.conf"}`, "R3 reads-secret"}, {"read", `{"path":".env. "}`, "R3 reads-secret"}})
}

// TestSearchesForVariablesOfSecrets: how the names of variables begin or end that
// hold secrets, and addresses with a password in them, are as good as "KEY".
func TestSearchesForVariablesOfSecrets(t *testing.T) {
	t.Parallel()
	checkLines(t, engine(t), lines("R3 may-read-secret", "grep -rh AWS_ .", "grep -rh STRIPE_ .", "grep -rn 'STRIPE_.*' .", "grep -rn _URL .", "grep -rin aws_ .", "grep -rn 'DB_[A-Z]' .", "rg OPENAI_", "rg 'foobar|TWILIO_'", "grep -rn postgres:// .", "rg 'mongodb\\+srv'", "grep -rn 'redis://' ."))
	checkLines(t, engine(t), lines("R0", "grep -rn HTTP_PORT .", "grep -rn NODE_ENV .", "grep -rn user_id .", "grep -rn __init__ src", "grep -rn test_ src", "rg get_user", "grep -rn TODO .", "rg _test", "grep -rn AWS_ --include=*.go .", "rg -t go STRIPE_"))
}
