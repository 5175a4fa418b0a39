import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readConfig } from '../../src/config/settings.ts';
import { type KubernetesObject, pairsOf, readDockerfile, readKubernetes } from './formats.ts';

const FILE = 'examples/deploy/kubernetes.yaml';
const objects = readKubernetes();
const object = (kind: string): KubernetesObject => objects.find((each) => each.kind === kind) ?? assert.fail(kind);

const { spec } = object('Deployment');
const pod = spec.template.spec;
const [container] = pod.containers;
const labels = spec.template.metadata.labels;
const env: Record<string, string> = Object.fromEntries(
  container.env
    .filter((each: KubernetesObject) => each.value !== undefined)
    .map((each: KubernetesObject) => [each.name, each.value]),
);
const image = readDockerfile('Dockerfile');
const ofImage = (name: string): string => image.findLast((each) => each.name === name)?.value ?? assert.fail(name);

describe(FILE, () => {
  test('every Kubernetes object has the apiVersion that serves it', () => {
    assert.deepEqual(Object.fromEntries(objects.map(({ kind, apiVersion }) => [kind, apiVersion])), {
      ServiceAccount: 'v1',
      Deployment: 'apps/v1',
      Service: 'v1',
      Ingress: 'networking.k8s.io/v1',
      PodDisruptionBudget: 'policy/v1',
      NetworkPolicy: 'networking.k8s.io/v1',
    });
    for (const { kind, metadata } of objects) assert.equal(metadata.name, 'columba', kind);
  });

  test('every selector finds the pods', () => {
    const selectors = [
      spec.selector.matchLabels,
      object('Service').spec.selector,
      object('PodDisruptionBudget').spec.selector.matchLabels,
      object('NetworkPolicy').spec.podSelector.matchLabels,
      ...pod.topologySpreadConstraints.map((each: KubernetesObject) => each.labelSelector.matchLabels),
    ];
    for (const selector of selectors) assert.deepEqual(selector, labels);
    assert.equal(pod.serviceAccountName, object('ServiceAccount').metadata.name);
  });

  test('Kubernetes runs at least two pods, and a disruption leaves one', () => {
    assert.ok(spec.replicas >= 2);
    assert.ok(object('PodDisruptionBudget').spec.minAvailable < spec.replicas);
    assert.deepEqual(spec.strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 });
  });

  test('a pod runs as the user of the image, who is not root, and can neither write to its root nor gain privileges', () => {
    const [uid, gid] = ofImage('USER').split(':').map(Number);
    const { runAsNonRoot, runAsUser, runAsGroup, seccompProfile } = pod.securityContext;
    assert.deepEqual([runAsNonRoot, runAsUser, runAsGroup], [true, uid, gid]);
    assert.deepEqual(seccompProfile, { type: 'RuntimeDefault' });
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.deepEqual(
      [pod.automountServiceAccountToken, object('ServiceAccount').automountServiceAccountToken],
      [false, false],
    );
  });

  test('Kubernetes mounts every writable folder: /tmp and the volume of the image', () => {
    const mounts = container.volumeMounts.map(({ mountPath }: KubernetesObject) => mountPath);
    assert.deepEqual(mounts.sort(), [ofImage('VOLUME'), '/tmp'].sort());
    const names = pod.volumes.map(({ name }: KubernetesObject) => name);
    for (const { name } of container.volumeMounts) assert.ok(names.includes(name), name);
  });

  test('the ports are those of the image, by one name each everywhere', () => {
    const [port, webPort] = ofImage('EXPOSE').split(' ').map(Number);
    assert.deepEqual(container.ports, [
      { name: 'http', containerPort: port },
      { name: 'web', containerPort: webPort },
      { name: 'health', containerPort: Number(env.COLUMBA_HEALTH_PORT) },
    ]);
    assert.equal(env.COLUMBA_HEALTH_HOST, '0.0.0.0', 'the kubelet is outside of the pod');
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      assert.equal(container[probe].httpGet.port, 'health');
    const targets = object('Service').spec.ports.map(({ targetPort }: KubernetesObject) => targetPort);
    assert.deepEqual(targets, ['http', 'web']);
    const allowed = object('NetworkPolicy').spec.ingress[0].ports.map((each: KubernetesObject) => each.port);
    assert.deepEqual(allowed, [port, webPort]);
  });

  test('a pod whose database does not answer is taken out of the service, and is not restarted', () => {
    assert.equal(container.readinessProbe.httpGet.path, '/health/ready');
    assert.equal(container.livenessProbe.httpGet.path, '/health/live');
    assert.equal(container.startupProbe.httpGet.path, '/health/live');
    assert.ok(container.readinessProbe.timeoutSeconds * 1_000 > Number(env.COLUMBA_DATABASE_TIMEOUT_MS));
  });

  test('a pod has more time to stop than the longest stop takes', () => {
    const [program, seconds] = container.lifecycle.preStop.exec.command;
    assert.equal(program, 'sleep');
    const waits =
      Number(seconds) * 1_000 + Number(env.COLUMBA_DRAIN_TIMEOUT_MS) + Number(env.COLUMBA_DATABASE_TIMEOUT_MS);
    assert.ok(pod.terminationGracePeriodSeconds * 1_000 > waits, String(waits));
  });

  test('the address of the database with its password comes from a secret, and no file contains it', () => {
    const { valueFrom } = container.env.find(({ name }: KubernetesObject) => name === 'COLUMBA_DATABASE');
    assert.deepEqual(valueFrom, { secretKeyRef: { name: 'columba-database', key: 'url' } });
    assert.deepEqual(
      objects.filter(({ kind }) => kind === 'Secret'),
      [],
    );
  });

  test('Kubernetes sets no variables of services in a pod, because they would be taken for settings', () => {
    const port = object('Service').spec.ports[0].port;
    // https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
    const links = { COLUMBA_SERVICE_HOST: '10.0.0.11', COLUMBA_PORT: `tcp://10.0.0.11:${port}` };
    assert.throws(() => readConfig({ ...env, ...links }), /COLUMBA_PORT[\s\S]*COLUMBA_SERVICE_HOST/);
    assert.equal(pod.enableServiceLinks, false);
  });

  test('memory is limited, and the requested memory is below the limit', () => {
    const mebibytes = (text: string): number => Number(/^(\d+)Mi$/.exec(text)?.[1]);
    const { requests, limits } = container.resources;
    assert.ok(mebibytes(requests.memory) < mebibytes(limits.memory));
    assert.match(requests.cpu, /^\d+m$/);
    for (const { name, emptyDir } of pod.volumes)
      assert.ok(mebibytes(emptyDir.sizeLimit) < mebibytes(limits.memory), name);
  });

  test('the Ingress sends the paths of the web listener there, and all others to the contract, on the host of the settings', () => {
    const { tls, rules } = object('Ingress').spec;
    const [{ host, http }] = rules;
    assert.deepEqual(
      [tls[0].hosts, env.COLUMBA_WEB_URL, env.COLUMBA_BASE_URL],
      [[host], `https://${host}`, `https://${host}`],
    );
    assert.deepEqual(
      http.paths.map(({ path, pathType, backend }: KubernetesObject) => [path, pathType, backend.service.port.name]),
      [
        ['/console', 'Prefix', 'web'],
        ['/operator', 'Prefix', 'web'],
        ['/carriers', 'Prefix', 'web'],
        ['/', 'Prefix', 'http'],
      ],
    );
    const names = object('Service').spec.ports.map(({ name }: KubernetesObject) => name);
    for (const { backend } of http.paths) assert.ok(names.includes(backend.service.port.name));
  });

  test('a pod reaches names, PostgreSQL, and on the internet carriers and webhooks by HTTPS and SMPP', () => {
    const { policyTypes, egress } = object('NetworkPolicy').spec;
    assert.deepEqual(policyTypes, ['Ingress', 'Egress']);
    const ports = egress.flatMap((rule: KubernetesObject) => rule.ports.map((each: KubernetesObject) => each.port));
    assert.deepEqual(ports, [53, 53, 5432, 443, 2775, 3550]);
    const [{ ipBlock }] = egress.at(-1).to;
    for (const network of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'])
      assert.ok(ipBlock.except.includes(network), network);
    for (const rule of egress) assert.ok(rule.to.length > 0);
  });

  test('the Kubernetes example sets only settings that differ from the image', () => {
    const given = pairsOf(ofImage('ENV'));
    assert.deepEqual(
      Object.entries(env).filter(([name, value]) => given[name] === value),
      [],
    );
  });
});
