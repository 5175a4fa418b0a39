"""Makes calls through zeep, line by line; toolkit.php says what is read and written."""

import json
import sys
from datetime import datetime

from zeep import Client, Transport
from zeep.helpers import serialize_object

# The WSDL of account derives lists from SOAP's Array, and names no place of its schema. zeep would download it.
SOAP_ENCODING = 'http://schemas.xmlsoap.org/soap/encoding/'
SOAP_ENCODING_SCHEMA = b"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
  targetNamespace="http://schemas.xmlsoap.org/soap/encoding/"><xs:complexType name="Array"><xs:sequence>
  <xs:any minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:schema>"""


class LocalTransport(Transport):
    """Asks the service and nobody else, and keeps its last response."""

    def __init__(self, address):
        super().__init__(timeout=30, operation_timeout=30)
        self.address = address
        self.response = None

    def load(self, url):
        if url == SOAP_ENCODING:
            return SOAP_ENCODING_SCHEMA
        if not url.startswith(self.address):
            raise ValueError(f'zeep wants to load {url}')
        return super().load(url)

    def post(self, address, message, headers):
        self.response = super().post(address, message, headers)
        return self.response


def argument(name, value):
    return datetime.fromisoformat(value.replace('Z', '+00:00')) if name in ('from', 'to') else value


def outcome(services, transport, version, asked):
    group = asked['group']
    try:
        if group not in services:
            client = Client(f'{transport.address}/api/{group}.asmx?WSDL', transport=transport)
            services[group] = client.bind(group, f'{group}Soap12' if version == 'soap12' else f'{group}Soap')
        arguments = {name: argument(name, value) for name, value in asked['arguments'].items()}
        value = serialize_object(services[group][asked['operation']](**arguments))
        return {'value': value, 'xml': transport.response.content.decode()}
    except Exception as error:  # a load goes on, whatever one call meets
        return {'error': f'{type(error).__name__}: {error}'}


def main():
    settings = json.loads(sys.stdin.readline())
    transport = LocalTransport(settings['address'])
    services = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if 'reload' in asked:
            services = {}
            told = {}
        else:
            told = outcome(services, transport, settings['version'], asked)
        print(json.dumps(told, default=str), flush=True)


main()
