package policy

const looksAtSystems = `kubectl get pods
kubectl get pods -o wide
kubectl get pod api-0 -o yaml
kubectl get deploy,svc,ing -n dev
kubectl get nodes -o wide
kubectl get events --sort-by=.lastTimestamp -n dev
kubectl get all -n dev
kubectl get ns
kubectl get pods -w
kubectl get cm app-config -o yaml
kubectl get pods --field-selector=status.phase!=Running -A
kubectl get pods -l 'app in (a,b)'
kubectl get pod api-0 -o jsonpath='{.status.phase}'
kubectl get pods --context=staging
kubectl get crd
kubectl get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName
kubectl describe pod api-0 -n dev
kubectl describe node ip-10-0-0-1
kubectl logs api-0
kubectl logs -n dev deploy/api --since=1h
kubectl logs api-0 -f --tail 100
kubectl logs -l app=api --tail=20 --prefix
kubectl top nodes
kubectl top pod -A --sort-by=memory
kubectl config get-contexts
kubectl config current-context
kubectl config view --minify
kubectl cluster-info
kubectl auth can-i list pods -n dev
kubectl auth can-i --list
kubectl diff -f k8s/
kubectl apply -f k8s/ --dry-run=server
kubectl create deployment x --image=nginx --dry-run=client -o yaml
kubectl explain pod.spec --recursive
kubectl version --short
kubectl kustomize overlays/dev
kubectl rollout status deploy/api
kubectl api-resources
kubectl wait --for=condition=ready pod -l app=api --timeout=60s
docker ps
docker ps -a
docker ps -aq
docker images | head
docker images --format '{{.Repository}}:{{.Tag}}'
docker logs api
docker logs -f --tail 50 api
docker logs --since 10m api 2>&1 | tail -n 20
docker stats --no-stream --format '{{.Name}} {{.CPUPerc}}'
docker version
docker info
docker network inspect app_default
docker volume ls
docker volume inspect pgdata
docker image inspect app:dev --format '{{.Config.WorkingDir}}'
docker image ls
docker container ls -a
docker context ls
docker compose ps
docker compose ps -a --format json
docker compose logs api
docker compose logs -f --tail=100 web worker
docker compose config --services
docker compose config -q
docker compose -f docker-compose.yml -f docker-compose.dev.yml ps
docker compose version
docker compose images
docker compose top
docker compose ls
docker-compose logs --tail=20 db
docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' api
docker inspect --format='{{.State.Status}}' api
docker inspect --format '{{json .Mounts}}' api
docker inspect --format '{{.Config.Image}}' api
docker port api
docker diff api
docker --version
docker buildx ls
docker system df -v
docker events --since 5m --until 0m
podman ps
podman images
nerdctl ps
docker search redis
docker manifest inspect node:20
helm list
helm ls -A
helm list -n dev -o json
helm history api -n dev
helm status api -n dev
helm show values bitnami/redis
helm search repo redis
helm repo list
helm template api ./chart -f values-dev.yaml
helm template . --debug
helm lint .
helm lint ./charts/api --strict
helm version --short
helm dependency list ./charts/api
helm get notes api
terraform fmt
terraform fmt -recursive
terraform fmt -check -recursive
terraform validate
terraform plan
terraform plan -no-color -input=false
terraform plan -var-file=dev.tfvars
terraform plan -target=module.vpc
terraform state list
terraform state show aws_s3_bucket.logs
terraform show
terraform show plan.out
terraform output
terraform version
terraform providers
terraform workspace list
terraform workspace show
terraform graph
terraform -chdir=infra plan
tofu validate
tofu plan
terragrunt --version
tflint
tflint --recursive
pulumi preview
pulumi stack
pulumi whoami
aws s3 ls
aws s3 ls s3://bucket/prefix/ --recursive --human-readable
aws sts get-caller-identity
aws ec2 describe-instances --region eu-west-1
aws ec2 describe-instances --instance-ids i-1 i-2 --query 'Reservations[0]'
aws ecs list-services --cluster dev
aws ecs describe-services --cluster dev --services api
aws logs tail /aws/lambda/x --since 1h
aws logs describe-log-groups
aws cloudformation describe-stacks --stack-name dev
aws rds describe-db-instances
aws iam list-users
aws eks list-clusters
aws ecr describe-repositories
aws configure list
aws --version
aws dynamodb list-tables --output table
aws sqs list-queues
aws route53 list-hosted-zones
aws lambda list-functions --query 'Functions[*].[FunctionName,Runtime]' --output table
gcloud projects list
gcloud compute instances list --project dev
gcloud container clusters list
gcloud auth list
gcloud config get-value project
gcloud run services list
gcloud logging read 'severity>=ERROR' --limit 20
gcloud sql instances list
gcloud version
gcloud info
gsutil ls gs://bucket
az account show
az group list -o table
az vm list -d -o table
az aks list
az version
doctl compute droplet list
systemctl status nginx
systemctl status nginx --no-pager -l
systemctl is-enabled docker
systemctl list-units --type=service --state=running
systemctl list-units --failed
systemctl --failed
systemctl show nginx -p ActiveState
systemctl --user status
journalctl -u nginx --since today --no-pager
journalctl -xe --no-pager
journalctl -u api -f
journalctl -k -n 50
journalctl -p err -b
journalctl --disk-usage
dmesg | tail -20
dmesg -T | grep -i oom
launchctl list | grep docker
service --status-all
mount | column -t
ip addr
ip a show eth0
ip route
ip -4 addr
ip link show
ip neigh
ifconfig
ifconfig -a
route -n
arp -a
lspci
vmstat 1 5
iostat -x
last -n 5
crontab -l
getent hosts localhost
getent passwd dev
sysctl net.ipv4.ip_forward
sysctl -a | grep vm.swappiness
ufw status verbose
nft list ruleset
psql -l
psql -d app -c 'select count(*) from users'
psql -U postgres -h localhost -d app -c "SELECT id, email FROM users WHERE created_at > now() - interval '1 day' LIMIT 10"
psql app -c '\dt'
psql app -c '\d+ orders'
psql -tA -c 'show server_version'
psql app -c "select relname, n_live_tup from pg_stat_user_tables order by 2 desc limit 10;"
psql app --csv -c 'select * from orders limit 5' | head
psql app -c "explain select * from orders where id = 1"
psql "postgresql://localhost:5432/app" -c 'select 1'
psql -c "select pid, state, query from pg_stat_activity"
psql -c "select pg_size_pretty(pg_database_size('app'))"
pg_isready -h localhost -p 5432
mysql -u root app -e 'show tables'
mysql -uroot -e 'show databases;'
mysql app -e 'select * from users limit 3'
mysql -e 'describe users' app
mysql -h 127.0.0.1 -P 3307 -u root app -e 'select count(*) from t'
sqlite3 dev.db '.tables'
sqlite3 dev.db '.schema users'
sqlite3 dev.db 'select * from users limit 5;'
sqlite3 -header -column dev.db 'select id, name from users'
sqlite3 -json data/app.sqlite 'select count(*) as n from t'
sqlite3 -readonly app.db "select name from sqlite_master where type='table'"
redis-cli ping
redis-cli info memory
redis-cli keys '*'
redis-cli -p 6380 dbsize
redis-cli ttl job:1
redis-cli llen queue
curl -s localhost:8080/health
curl -i http://localhost:3000
curl -fsS http://127.0.0.1:8080/metrics | head
curl -I https://example.com
curl -sS https://api.github.com/repos/a/b/releases/latest | jq -r .tag_name
curl -sL https://example.com/x.tar.gz -o x.tar.gz
curl -s -o /dev/null -w '%{http_code}\n' http://localhost:3000/
curl -s -H 'Accept: application/json' http://localhost:3000/api
curl -v http://localhost:8080/ 2>&1 | head
curl -X GET http://localhost:8080/api/users
curl --max-time 5 -s http://localhost:8080
curl -sS 'http://localhost:9200/_cat/indices?v'
curl -LO https://github.com/a/b/releases/download/v1/b.tar.gz
curl -s https://registry.npmjs.org/react | jq .version
wget -q --spider http://localhost:8080
wget -qO- http://localhost:8080/health
wget https://example.com/data.csv -O data/data.csv
ping -c 3 example.com
ping -c1 -W2 8.8.8.8
dig example.com
dig +short MX example.com
dig @1.1.1.1 example.com A
nslookup example.com
host example.com
whois example.com
traceroute example.com
nc -z localhost 6379
nc -vz 127.0.0.1 8080
openssl version
openssl x509 -in cert.pem -noout -dates
openssl x509 -noout -subject -issuer -in certs/dev.crt
openssl rand -hex 16
openssl dgst -sha256 file.bin
openssl req -in x.csr -noout -text
openssl verify -CAfile ca.pem cert.pem
rsync -avn src/ dest/
rsync --dry-run -a dist/ public/
kill -0 4242
heroku ps -a app
heroku logs -n 100 -a app
heroku releases
fly status -a app
fly logs
vercel ls
netlify status
firebase projects:list
minikube status
kind get clusters
stern api -n dev --since 5m
k3d cluster list
istioctl version
argocd app list
flux get all
consul members
nomad status
vault status
kubectl delete pod x --dry-run=client
kubectl delete pod x --dry-run
docker ps -n 5
docker logs -n 50 api
cdk diff
cdk synth
ip -br addr show
traceroute -n -q 1 example.com
mtr -rwc 3 example.com
kubectl get pods -L app
for ns in dev staging; do kubectl get deploy -n "$ns" -o name; done
kubectl get po --namespace=payments -l app=checkout --sort-by=.metadata.creationTimestamp
helm template ./chart | kubeconform -strict -
helm lint charts/*
tofu fmt -diff -check
terraform fmt -check -diff && terraform validate -json | jq '.diagnostics'
pulumi stack ls
docker inspect api-1 --format '{{.State.Health.Status}}'
docker top worker
docker history --no-trunc acme/api:dev
kubectl api-resources --namespaced=true
aws lambda list-functions --query 'Functions[].FunctionName'
curl -O https://example.com/a/x.tgz
wget -P data https://example.com/x.csv`
